#pragma once
// RMS norm (Zhang & Sennrich 2019), plain and gated; layer norm (Ba et al. 2016); L2 norm.

#include "kernels/body/math.h"
#include "kernels/body/row.h"

OXBOW_ISA_BEGIN

// 1 / sqrt(mean of squares + eps), in every lane.
OXBOW_INLINE F32x16 inverse_rms(float sum_of_squares, size_t n, float eps) {
  const F32x16 mean = broadcast(sum_of_squares / static_cast<float>(n));
  return div(broadcast(1.0f), sqrt(add(mean, broadcast(eps))));
}

OXBOW_INLINE void scale_row(const float* x, const float* w, F32x16 factor, size_t n, float* y) {
  for_each_vector(n, [&](size_t i, size_t count) {
    F32x16 v = mul(load_up_to(x + i, count), factor);
    if (w != nullptr) v = mul(v, load_up_to(w + i, count));
    store_up_to(y + i, v, count);
  });
}

inline void rms_norm(const float* x, const float* w, size_t n, float eps, float* y) {
  const float squares = sum_row(n, [&](F32x16 sum, size_t i, size_t count) {
    const F32x16 v = load_up_to(x + i, count);
    return fma(v, v, sum);
  });
  scale_row(x, w, inverse_rms(squares, n, eps), n, y);
}

inline void layer_norm(const float* x, const float* w, const float* b, size_t n, float eps, float* y) {
  const float total =
      sum_row(n, [&](F32x16 sum, size_t i, size_t count) { return add(sum, load_up_to(x + i, count)); });
  const F32x16 mean = broadcast(total / static_cast<float>(n));
  const float squares = sum_row(n, [&](F32x16 sum, size_t i, size_t count) {
    const F32x16 d = sub(load_up_to(x + i, count), mean);
    return fma(d, count >= kLanes ? d : select(first_lanes(count), d, zero()), sum);
  });
  const F32x16 factor = inverse_rms(squares, n, eps);
  for_each_vector(n, [&](size_t i, size_t count) {
    const F32x16 v = mul(sub(load_up_to(x + i, count), mean), factor);
    store_up_to(y + i, fma(v, load_up_to(w + i, count), load_up_to(b + i, count)), count);
  });
}

inline void l2_norm(const float* x, size_t n, float eps, float* y) {
  const float squares = sum_row(n, [&](F32x16 sum, size_t i, size_t count) {
    const F32x16 v = load_up_to(x + i, count);
    return fma(v, v, sum);
  });
  scale_row(x, nullptr, div(broadcast(1.0f), sqrt(add(broadcast(squares), broadcast(eps)))), n, y);
}

inline void gate_norm(const float* x, const float* z, const float* w, size_t n, float eps, float* y) {
  const float squares = sum_row(n, [&](F32x16 sum, size_t i, size_t count) {
    const F32x16 v = mul(load_up_to(x + i, count), silu(load_up_to(z + i, count)));
    store_up_to(y + i, v, count);
    return fma(v, v, sum);
  });
  if (w != nullptr) scale_row(y, w, inverse_rms(squares, n, eps), n, y);
}

OXBOW_ISA_END
