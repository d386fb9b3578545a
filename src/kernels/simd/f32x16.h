#pragma once
// A vector of 16 floats: one AVX-512 register, two AVX2 registers, or four vectors of 4 that any compiler
// lowers.
//
// Invariants
//  1. Every operation gives the same bits for every instruction set (the payload of a NaN excepted), because
//  it is the
//     same IEEE 754 operation on each lane: no approximate reciprocals, no flushing of subnormals.
//  2. min and max are `a < b ? a : b` and `a > b ? a : b`: with a NaN, and for zeros of both signs, b.
//  3. Reductions combine lanes i and i + 8, then i and i + 4, i + 2, i + 1; the lower lane is the left
//  operand.
//
// The types: F32x16, I32x16 (two's complement, wraps), Mask16 (one truth value per lane). The functions, for
// vectors a b c, masks m, and lane counts n in [0, 16]:
//
//   zero() broadcast(x) load(p) store(p, a) load_partial(p, n) store_partial(p, a, n)   lanes from n on read
//   as 0 load_f16(p) load_bf16(p) and partial, store_f16(p, a) store_bf16(p, a) and partial   round to
//   nearest even add sub mul div sqrt min max neg abs      fma(a, b, c) = a b + c   fnma(a, b, c) = c - a b,
//   one rounding less(a, b) less_equal(a, b) first_lanes(n) both(m, m) lane_range(begin, end) select(m, a, b)
//   m ? a : b scale_by_power(a, n)                      a * 2^n, one rounding; 0.5 <= |a| <= 2, n integral,
//   |n| <= 250 nearest_int(a)                            |a| < 2^22, nearest even to_float(i) bits(a)
//   from_bits(i)          rounds to nearest even; reinterpret reduce_add(a) reduce_max(a) first_lane(a)
//   of integers: max(i, i) reduce_add(i) reduce_max(i), store_bytes(p, i): the low byte of lanes in [-128,
//   127]

#include <cstddef>
#include <cstdint>

#include "kernels/simd/isa.h"

#if defined(OXBOW_ISA_AVX512)
#include "kernels/simd/f32x16_avx512.h"
#elif defined(OXBOW_ISA_AVX2)
#include "kernels/simd/f32x16_avx2.h"
#else
#include "kernels/simd/f32x16_portable.h"
#endif

OXBOW_ISA_BEGIN

inline constexpr size_t kLanes = 16;

OXBOW_INLINE Mask16 lane_range(size_t begin, size_t end) {
  return excluding(first_lanes(end), first_lanes(begin));
}

OXBOW_ISA_END
