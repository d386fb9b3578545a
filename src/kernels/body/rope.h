#pragma once
// Rotary position embedding (Su et al. 2021).

#include "kernels/body/row.h"

OXBOW_ISA_BEGIN

struct RotatedPair {
  F32x16 first;
  F32x16 second;
};

OXBOW_INLINE RotatedPair rotate(F32x16 a, F32x16 b, F32x16 cosine, F32x16 sine) {
  return {fnma(b, sine, mul(a, cosine)), fma(b, cosine, mul(a, sine))};
}

// Pairs (j, j + half).
OXBOW_INLINE void rope_neox(float* x, size_t half, const float* cosine, const float* sine) {
  for_each_vector(half, [&](size_t j, size_t count) {
    const RotatedPair r = rotate(load_up_to(x + j, count), load_up_to(x + half + j, count),
                                 load_up_to(cosine + j, count), load_up_to(sine + j, count));
    store_up_to(x + j, r.first, count);
    store_up_to(x + half + j, r.second, count);
  });
}

// Pairs (2 j, 2 j + 1), gathered to two vectors and scattered back.
OXBOW_INLINE void rope_adjacent(float* x, size_t half, const float* cosine, const float* sine) {
  for_each_vector(half, [&](size_t j, size_t count) {
    float even[kLanes] = {}, odd[kLanes] = {};
    for (size_t i = 0; i < count; ++i) {
      even[i] = x[2 * (j + i)];
      odd[i] = x[2 * (j + i) + 1];
    }
    const RotatedPair r =
        rotate(load(even), load(odd), load_up_to(cosine + j, count), load_up_to(sine + j, count));
    store(even, r.first);
    store(odd, r.second);
    for (size_t i = 0; i < count; ++i) {
      x[2 * (j + i)] = even[i];
      x[2 * (j + i) + 1] = odd[i];
    }
  });
}

inline void rope(float* x, size_t heads, size_t head_dim, size_t n_rot, RopeStyle style, const float* cosine,
                 const float* sine) {
  for (size_t h = 0; h < heads; ++h) {
    if (style == RopeStyle::kNeox) {
      rope_neox(x + h * head_dim, n_rot / 2, cosine, sine);
    } else {
      rope_adjacent(x + h * head_dim, n_rot / 2, cosine, sine);
    }
  }
}

OXBOW_ISA_END
