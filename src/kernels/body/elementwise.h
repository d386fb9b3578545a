#pragma once
// Operations on one row: scaling, gates, mixing, softplus, softmax.

#include "kernels/body/math.h"
#include "kernels/body/row.h"

OXBOW_ISA_BEGIN

inline void add_scaled(const float* x, float a, size_t n, float* y) {
  const F32x16 factor = broadcast(a);
  for_each_vector(n, [&](size_t i, size_t count) {
    store_up_to(y + i, fma(factor, load_up_to(x + i, count), load_up_to(y + i, count)), count);
  });
}

inline void scale(const float* x, float a, size_t n, float* y) {
  const F32x16 factor = broadcast(a);
  for_each_vector(
      n, [&](size_t i, size_t count) { store_up_to(y + i, mul(factor, load_up_to(x + i, count)), count); });
}

inline void silu_mul(const float* gate, const float* up, size_t n, float* y) {
  for_each_vector(n, [&](size_t i, size_t count) {
    store_up_to(y + i, mul(silu(load_up_to(gate + i, count)), load_up_to(up + i, count)), count);
  });
}

inline void gelu_mul(const float* gate, const float* up, size_t n, float* y) {
  for_each_vector(n, [&](size_t i, size_t count) {
    store_up_to(y + i, mul(gelu(load_up_to(gate + i, count)), load_up_to(up + i, count)), count);
  });
}

inline void relu_squared(const float* x, size_t n, float* y) {
  for_each_vector(n, [&](size_t i, size_t count) {
    const F32x16 v = max(zero(), load_up_to(x + i, count));
    store_up_to(y + i, mul(v, v), count);
  });
}

inline void sigmoid(const float* x, size_t n, float* y) {
  for_each_vector(
      n, [&](size_t i, size_t count) { store_up_to(y + i, sigmoid(load_up_to(x + i, count)), count); });
}

inline void multiply(const float* a, const float* b, size_t n, float* y) {
  for_each_vector(n, [&](size_t i, size_t count) {
    store_up_to(y + i, mul(load_up_to(a + i, count), load_up_to(b + i, count)), count);
  });
}

inline void tanh(const float* x, size_t n, float* y) {
  for_each_vector(n,
                  [&](size_t i, size_t count) { store_up_to(y + i, tanh(load_up_to(x + i, count)), count); });
}

inline void exp_scaled(const float* x, float a, size_t n, float* y) {
  const F32x16 factor = broadcast(a);
  for_each_vector(n, [&](size_t i, size_t count) {
    store_up_to(y + i, exp(mul(factor, load_up_to(x + i, count))), count);
  });
}

inline void lerp(const float* a, const float* b, const float* m, size_t n, float* y) {
  for_each_vector(n, [&](size_t i, size_t count) {
    const F32x16 from = load_up_to(a + i, count);
    store_up_to(y + i, fma(sub(load_up_to(b + i, count), from), load_up_to(m + i, count), from), count);
  });
}

inline float dot(const float* a, const float* b, size_t n) {
  return sum_row(n, [&](F32x16 sum, size_t i, size_t count) {
    return fma(load_up_to(a + i, count), load_up_to(b + i, count), sum);
  });
}

inline void softplus(const float* x, const float* bias, size_t n, float* y) {
  for_each_vector(n, [&](size_t i, size_t count) {
    F32x16 v = load_up_to(x + i, count);
    if (bias != nullptr) v = add(v, load_up_to(bias + i, count));
    store_up_to(y + i, softplus(v), count);
  });
}

inline void softmax(float* x, size_t n) {
  F32x16 largest = broadcast(-__builtin_inff());
  for_each_vector(n, [&](size_t i, size_t count) {
    const F32x16 v = load_up_to(x + i, count);
    largest = max(largest, count == kLanes ? v : select(first_lanes(count), v, largest));
  });
  const F32x16 offset = broadcast(reduce_max(largest));
  const F32x16 total = broadcast(sum_row(n, [&](F32x16 sum, size_t i, size_t count) {
    const F32x16 e = exp(sub(load_up_to(x + i, count), offset));
    store_up_to(x + i, e, count);
    return add(sum, count >= kLanes ? e : select(first_lanes(count), e, zero()));
  }));
  for_each_vector(
      n, [&](size_t i, size_t count) { store_up_to(x + i, div(load_up_to(x + i, count), total), count); });
}

OXBOW_ISA_END
