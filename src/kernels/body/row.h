#pragma once
// Walking a row of n floats in vectors, and the one order in which a row is summed.

#include "kernels/simd/f32x16.h"

OXBOW_ISA_BEGIN

OXBOW_INLINE F32x16 load_up_to(const float* p, size_t count) {
  return count >= kLanes ? load(p) : load_partial(p, count);
}
OXBOW_INLINE void store_up_to(float* p, F32x16 v, size_t count) {
  if (count >= kLanes) {
    store(p, v);
  } else {
    store_partial(p, v, count);
  }
}

OXBOW_INLINE F32x16 load_f16_up_to(const uint16_t* p, size_t count) {
  return count >= kLanes ? load_f16(p) : load_f16_partial(p, count);
}
OXBOW_INLINE void store_f16_up_to(uint16_t* p, F32x16 v, size_t count) {
  if (count >= kLanes) {
    store_f16(p, v);
  } else {
    store_f16_partial(p, v, count);
  }
}

// Calls visit(i, count) for each vector of a row: lanes [i, i + count).
template <class Visit>
OXBOW_INLINE void for_each_vector(size_t n, Visit visit) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) visit(i, kLanes);
  if (i < n) visit(i, n - i);
}

// Folds a row into one number: vector v of the row goes to accumulator v mod 4, in ascending order by
// accumulator = step(accumulator, i, count), and the four are added as (0 + 1) + (2 + 3) before their lanes
// are.
template <class Step>
OXBOW_INLINE float sum_row(size_t n, Step step) {
  F32x16 a0 = zero(), a1 = zero(), a2 = zero(), a3 = zero();
  size_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    a0 = step(a0, i, kLanes);
    a1 = step(a1, i + kLanes, kLanes);
    a2 = step(a2, i + 2 * kLanes, kLanes);
    a3 = step(a3, i + 3 * kLanes, kLanes);
  }
  if (i < n) a0 = step(a0, i, n - i);
  if (i + kLanes < n) a1 = step(a1, i + kLanes, n - i - kLanes);
  if (i + 2 * kLanes < n) a2 = step(a2, i + 2 * kLanes, n - i - 2 * kLanes);
  if (i + 3 * kLanes < n) a3 = step(a3, i + 3 * kLanes, n - i - 3 * kLanes);
  return reduce_add(add(add(a0, a1), add(a2, a3)));
}

OXBOW_ISA_END
