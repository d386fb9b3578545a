#pragma once
// a * b + c with one rounding, from double-precision adds and multiplies only.
//
// The product of two floats is exact in double. The sum is rounded to odd there (Boldo & Melquiond 2008):
// when it is inexact its last bit is set, so that the final rounding to float sees on which side of a tie the
// true value lies. This is the fused multiply-add of processors without one, independent of the C library.

#include <cstdint>

#include "kernels/simd/isa.h"

OXBOW_ISA_BEGIN

OXBOW_INLINE float exact_fma(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_fmaf(a, b, c);
#else
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double addend = c;
  const double sum = product + addend;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (addend - back);
  uint64_t bits;
  __builtin_memcpy(&bits, &sum, sizeof(bits));
  // error is NaN when the sum is not finite: both comparisons are false then.
  const bool outwards = (error > 0 && sum > 0) || (error < 0 && sum < 0);
  const bool inwards = (error > 0 && sum < 0) || (error < 0 && sum > 0);
  const uint64_t even = ~bits & 1;
  bits += outwards ? even : 0;
  bits -= inwards ? even : 0;
  double odd;
  __builtin_memcpy(&odd, &bits, sizeof(odd));
  return static_cast<float>(odd);
#endif
}

OXBOW_ISA_END
