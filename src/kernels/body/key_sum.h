#pragma once
// The one order in which a matrix state is summed over its keys.

#include "kernels/simd/f32x16.h"

OXBOW_ISA_BEGIN

// Adds up step(key, accumulator) over all keys: key i goes to accumulator i mod 4, and the four are combined
// as (0 + 1) + (2 + 3).
template <class Step>
OXBOW_INLINE F32x16 sum_keys(size_t keys, Step step) {
  F32x16 y0 = zero(), y1 = zero(), y2 = zero(), y3 = zero();
  size_t i = 0;
  for (; i + 4 <= keys; i += 4) {
    y0 = step(i, y0);
    y1 = step(i + 1, y1);
    y2 = step(i + 2, y2);
    y3 = step(i + 3, y3);
  }
  if (i < keys) y0 = step(i, y0);
  if (i + 1 < keys) y1 = step(i + 1, y1);
  if (i + 2 < keys) y2 = step(i + 2, y2);
  return add(add(y0, y1), add(y2, y3));
}

OXBOW_ISA_END
