#pragma once
// Constants of body/math.h and of its scalar twin, exp_float. The polynomials minimise the largest relative
// error.

#include "kernels/simd/isa.h"

OXBOW_ISA_BEGIN

inline constexpr float kRoundingMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kLn2Hi = 0x1.62e430p-1f;
inline constexpr float kLn2Lo = -0x1.05c610p-29f;
inline constexpr float kExpLowest = -104.0f;  // exp of it rounds to 0
inline constexpr float kExpHighest = 89.0f;   // exp of it overflows
// (exp(r) - 1 - r) / r^2 on [-ln(2) / 2, ln(2) / 2], error 2^-28 of exp(r)
inline constexpr float kExp[5] = {0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558f2p-5f, 0x1.1239f2p-7f,
                                  0x1.6a241ap-10f};
// (atanh(t) / t - 1) / t^2 as a polynomial in t^2 on [0, 1/9], error 2^-33 of atanh(t)
inline constexpr float kAtanh[5] = {0x1.555558p-2f, 0x1.9996aep-3f, 0x1.2508c6p-3f, 0x1.b6e4ecp-4f,
                                    0x1.f17af6p-4f};
// (tanh(x) / x - 1) / x^2 as a polynomial in x^2 on [0, 1/16], error 2^-30 of tanh(x)
inline constexpr float kTanh[4] = {-0x1.555556p-2f, 0x1.1110ccp-3f, -0x1.b9c50ap-5f, 0x1.54c8f2p-6f};

OXBOW_ISA_END
