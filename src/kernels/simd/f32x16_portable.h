#pragma once
// F32x16 as four vectors of 4 floats in the compilers' vector notation. See f32x16.h for the contract.

#include "kernels/simd/exact_fma.h"

OXBOW_ISA_BEGIN

typedef float Float4 __attribute__((vector_size(16)));
typedef int32_t Int4 __attribute__((vector_size(16)));
typedef uint32_t Uint4 __attribute__((vector_size(16)));

struct F32x16 {
  Float4 q[4];
};
struct I32x16 {
  Int4 q[4];
};
struct Mask16 {
  Int4 q[4];  // -1 or 0
};

inline constexpr size_t kVectorRegisters = 4;  // F32x16 values that fit in registers

// Applies an operation to each vector of 4.
template <class Result, class Operation>
OXBOW_INLINE Result quarters(Operation operation) {
  return {{operation(0), operation(1), operation(2), operation(3)}};
}

OXBOW_INLINE F32x16 broadcast(float x) {
  const Float4 v = {x, x, x, x};
  return {{v, v, v, v}};
}
OXBOW_INLINE F32x16 zero() {
  return broadcast(0.0f);
}

OXBOW_INLINE F32x16 load(const float* p) {
  F32x16 v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}
OXBOW_INLINE void store(float* p, F32x16 v) {
  __builtin_memcpy(p, &v, sizeof(v));
}
OXBOW_INLINE F32x16 load_partial(const float* p, size_t n) {
  float lanes[16] = {};
  for (size_t i = 0; i < n; ++i) lanes[i] = p[i];
  return load(lanes);
}
OXBOW_INLINE void store_partial(float* p, F32x16 v, size_t n) {
  float lanes[16];
  store(lanes, v);
  for (size_t i = 0; i < n; ++i) p[i] = lanes[i];
}

OXBOW_INLINE F32x16 add(F32x16 a, F32x16 b) {
  return quarters<F32x16>([&](int i) { return a.q[i] + b.q[i]; });
}
OXBOW_INLINE F32x16 sub(F32x16 a, F32x16 b) {
  return quarters<F32x16>([&](int i) { return a.q[i] - b.q[i]; });
}
OXBOW_INLINE F32x16 mul(F32x16 a, F32x16 b) {
  return quarters<F32x16>([&](int i) { return a.q[i] * b.q[i]; });
}
OXBOW_INLINE F32x16 div(F32x16 a, F32x16 b) {
  return quarters<F32x16>([&](int i) { return a.q[i] / b.q[i]; });
}
// Out of line: inlined at every use, it would be most of this unit's code and minutes of its compilation.
[[gnu::noinline, maybe_unused]] inline F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  float x[16], y[16], z[16];
  store(x, a);
  store(y, b);
  store(z, c);
  for (int i = 0; i < 16; ++i) z[i] = exact_fma(x[i], y[i], z[i]);
  return load(z);
}
OXBOW_INLINE F32x16 sqrt(F32x16 a) {
  return quarters<F32x16>([&](int i) {
    Float4 r;
    for (int k = 0; k < 4; ++k) r[k] = __builtin_sqrtf(a.q[i][k]);
    return r;
  });
}

OXBOW_INLINE I32x16 bits(F32x16 a) {
  I32x16 v;
  __builtin_memcpy(&v, &a, sizeof(v));
  return v;
}
OXBOW_INLINE F32x16 from_bits(I32x16 a) {
  F32x16 v;
  __builtin_memcpy(&v, &a, sizeof(v));
  return v;
}
OXBOW_INLINE F32x16 neg(F32x16 a) {
  return quarters<F32x16>([&](int i) { return -a.q[i]; });
}
OXBOW_INLINE F32x16 fnma(F32x16 a, F32x16 b, F32x16 c) {
  return fma(neg(a), b, c);
}

OXBOW_INLINE I32x16 broadcast_int(int32_t x) {
  const Int4 v = {x, x, x, x};
  return {{v, v, v, v}};
}
OXBOW_INLINE I32x16 load_int(const int32_t* p) {
  I32x16 v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}
OXBOW_INLINE void store_int(int32_t* p, I32x16 v) {
  __builtin_memcpy(p, &v, sizeof(v));
}
OXBOW_INLINE I32x16 add(I32x16 a, I32x16 b) {
  return quarters<I32x16>([&](int i) { return (Int4)((Uint4)a.q[i] + (Uint4)b.q[i]); });
}
OXBOW_INLINE I32x16 sub(I32x16 a, I32x16 b) {
  return quarters<I32x16>([&](int i) { return (Int4)((Uint4)a.q[i] - (Uint4)b.q[i]); });
}
OXBOW_INLINE I32x16 bit_and(I32x16 a, I32x16 b) {
  return quarters<I32x16>([&](int i) { return a.q[i] & b.q[i]; });
}
template <int kCount>
OXBOW_INLINE I32x16 shift_left(I32x16 a) {
  return quarters<I32x16>([&](int i) { return (Int4)((Uint4)a.q[i] << kCount); });
}
template <int kCount>
OXBOW_INLINE I32x16 shift_right(I32x16 a) {
  return quarters<I32x16>([&](int i) { return a.q[i] >> kCount; });
}
OXBOW_INLINE I32x16 max(I32x16 a, I32x16 b) {
  return quarters<I32x16>([&](int i) {
    const Int4 greater = a.q[i] > b.q[i];
    return (a.q[i] & greater) | (b.q[i] & ~greater);
  });
}
OXBOW_INLINE int32_t reduce_max(I32x16 a) {
  int32_t largest = a.q[0][0];
  for (int i = 1; i < 16; ++i) largest = a.q[i / 4][i % 4] > largest ? a.q[i / 4][i % 4] : largest;
  return largest;
}
OXBOW_INLINE int32_t reduce_add(I32x16 a) {
  const Int4 sum = (a.q[0] + a.q[1]) + (a.q[2] + a.q[3]);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
OXBOW_INLINE void store_bytes(int8_t* p, I32x16 a) {
  for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(a.q[i / 4][i % 4]);
}
OXBOW_INLINE F32x16 to_float(I32x16 a) {
  return quarters<F32x16>([&](int i) { return __builtin_convertvector(a.q[i], Float4); });
}

OXBOW_INLINE F32x16 abs(F32x16 a) {
  return from_bits(bit_and(bits(a), broadcast_int(0x7fffffff)));
}

// Adding 1.5 * 2^23 leaves the integer in the low bits of the significand.
OXBOW_INLINE I32x16 nearest_int(F32x16 a) {
  const F32x16 magic = broadcast(12582912.0f);
  return sub(bits(add(a, magic)), bits(magic));
}

OXBOW_INLINE Mask16 less(F32x16 a, F32x16 b) {
  return quarters<Mask16>([&](int i) { return (Int4)(a.q[i] < b.q[i]); });
}
OXBOW_INLINE Mask16 less_equal(F32x16 a, F32x16 b) {
  return quarters<Mask16>([&](int i) { return (Int4)(a.q[i] <= b.q[i]); });
}
OXBOW_INLINE Mask16 both(Mask16 a, Mask16 b) {
  return quarters<Mask16>([&](int i) { return a.q[i] & b.q[i]; });
}
OXBOW_INLINE Mask16 excluding(Mask16 a, Mask16 b) {
  return quarters<Mask16>([&](int i) { return a.q[i] & ~b.q[i]; });
}
OXBOW_INLINE Mask16 first_lanes(size_t n) {
  const int32_t count = static_cast<int32_t>(n);
  const Int4 base = {0, 1, 2, 3};
  return quarters<Mask16>([&](int i) { return (Int4)(base + 4 * i < count); });
}
OXBOW_INLINE F32x16 select(Mask16 m, F32x16 a, F32x16 b) {
  return quarters<F32x16>(
      [&](int i) { return (Float4)(((Int4)a.q[i] & m.q[i]) | ((Int4)b.q[i] & ~m.q[i])); });
}
OXBOW_INLINE F32x16 min(F32x16 a, F32x16 b) {
  return select(less(a, b), a, b);
}
OXBOW_INLINE F32x16 max(F32x16 a, F32x16 b) {
  return select(less(b, a), a, b);
}

// Two exact powers of two; only the second product can round.
OXBOW_INLINE F32x16 scale_by_power(F32x16 a, F32x16 n) {
  const I32x16 whole = nearest_int(n);
  const I32x16 half = shift_right<1>(whole);
  const I32x16 bias = broadcast_int(127);
  const F32x16 first = from_bits(shift_left<23>(add(half, bias)));
  const F32x16 second = from_bits(shift_left<23>(add(sub(whole, half), bias)));
  return mul(mul(a, first), second);
}

OXBOW_INLINE float first_lane(F32x16 a) {
  return a.q[0][0];
}
OXBOW_INLINE float reduce_add(F32x16 a) {
  const Float4 four = (a.q[0] + a.q[2]) + (a.q[1] + a.q[3]);
  return (four[0] + four[2]) + (four[1] + four[3]);
}
OXBOW_INLINE float larger(float a, float b) {
  return a > b ? a : b;
}
OXBOW_INLINE float reduce_max(F32x16 a) {
  float lanes[16];
  store(lanes, a);
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] = larger(lanes[i], lanes[i + width]);
  }
  return lanes[0];
}

// The same rules as quant/half.h, which this unit may not call: exact in one direction, nearest even in the
// other.
OXBOW_INLINE float half_lane(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000U) << 16;
  const uint32_t magnitude = h & 0x7fffU;
  uint32_t result;
  if (magnitude >= 0x7c00U) {
    const uint32_t quiet = magnitude > 0x7c00U ? 0x400000U : 0;
    result = 0x7f800000U | quiet | ((magnitude & 0x3ffU) << 13);
  } else if (magnitude >= 0x400U) {
    result = (magnitude << 13) + 0x38000000U;
  } else {
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    __builtin_memcpy(&result, &value, sizeof(result));
  }
  result |= sign;
  float value;
  __builtin_memcpy(&value, &result, sizeof(value));
  return value;
}
OXBOW_INLINE uint16_t lane_half(float value) {
  uint32_t word;
  __builtin_memcpy(&word, &value, sizeof(word));
  const uint32_t sign = (word >> 16) & 0x8000U;
  const uint32_t magnitude = word & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x3ffU));
  if (magnitude >= 0x477ff000U) return static_cast<uint16_t>(sign | 0x7c00U);
  if (magnitude < 0x38800000U) {
    // Adding 0.5 aligns the last place of binary32 with the subnormal grid of binary16.
    float rounded;
    __builtin_memcpy(&rounded, &magnitude, sizeof(rounded));
    rounded += 0.5f;
    uint32_t grid;
    __builtin_memcpy(&grid, &rounded, sizeof(grid));
    return static_cast<uint16_t>(sign | (grid - 0x3f000000U));
  }
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13));
}
OXBOW_INLINE uint16_t lane_bf16(float value) {
  uint32_t word;
  __builtin_memcpy(&word, &value, sizeof(word));
  if ((word & 0x7fffffffU) > 0x7f800000U) return static_cast<uint16_t>((word >> 16) | 0x40U);
  return static_cast<uint16_t>((word + 0x7fffU + ((word >> 16) & 1U)) >> 16);
}

OXBOW_INLINE F32x16 load_f16_partial(const uint16_t* p, size_t n) {
  float lanes[16] = {};
  for (size_t i = 0; i < n; ++i) lanes[i] = half_lane(p[i]);
  return load(lanes);
}
OXBOW_INLINE F32x16 load_f16(const uint16_t* p) {
  return load_f16_partial(p, 16);
}
OXBOW_INLINE void store_f16_partial(uint16_t* p, F32x16 a, size_t n) {
  float lanes[16];
  store(lanes, a);
  for (size_t i = 0; i < n; ++i) p[i] = lane_half(lanes[i]);
}
OXBOW_INLINE void store_f16(uint16_t* p, F32x16 a) {
  store_f16_partial(p, a, 16);
}
OXBOW_INLINE F32x16 load_bf16_partial(const uint16_t* p, size_t n) {
  int32_t lanes[16] = {};
  for (size_t i = 0; i < n; ++i) lanes[i] = static_cast<int32_t>(static_cast<uint32_t>(p[i]) << 16);
  return from_bits(load_int(lanes));
}
OXBOW_INLINE F32x16 load_bf16(const uint16_t* p) {
  return load_bf16_partial(p, 16);
}
OXBOW_INLINE void store_bf16_partial(uint16_t* p, F32x16 a, size_t n) {
  float lanes[16];
  store(lanes, a);
  for (size_t i = 0; i < n; ++i) p[i] = lane_bf16(lanes[i]);
}
OXBOW_INLINE void store_bf16(uint16_t* p, F32x16 a) {
  store_bf16_partial(p, a, 16);
}

OXBOW_ISA_END
