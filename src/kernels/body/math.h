#pragma once
// exp, log1p, tanh, SiLU and softplus on the lanes of a vector: polynomials over IEEE operations, so that
// every instruction set gives the same bits and none of the C library's.

#include "kernels/body/math_constants.h"
#include "kernels/simd/f32x16.h"

OXBOW_ISA_BEGIN

// Within 1 ulp. exp(-inf) = 0, overflow gives inf, NaN stays NaN, results below the normal range are rounded
// once.
//
// x = n ln 2 + r with |r| <= ln(2) / 2; exp(r) = 1 + r + r^2 p(r). n ln2_hi is exact for every n that occurs.
OXBOW_INLINE F32x16 exp(F32x16 x) {
  x = max(broadcast(kExpLowest), min(broadcast(kExpHighest), x));
  const F32x16 magic = broadcast(kRoundingMagic);
  const F32x16 n = sub(fma(x, broadcast(kLog2E), magic), magic);
  F32x16 r = fnma(n, broadcast(kLn2Hi), x);
  r = fnma(n, broadcast(kLn2Lo), r);
  F32x16 p = broadcast(kExp[4]);
  p = fma(p, r, broadcast(kExp[3]));
  p = fma(p, r, broadcast(kExp[2]));
  p = fma(p, r, broadcast(kExp[1]));
  p = fma(p, r, broadcast(kExp[0]));
  p = fma(mul(p, r), r, r);
  return scale_by_power(add(p, broadcast(1.0f)), n);
}

// log(1 + e) for e in [0, 1], within 2 ulp: 2 atanh(t) with t = e / (2 + e).
OXBOW_INLINE F32x16 log1p_unit(F32x16 e) {
  const F32x16 t = div(e, add(e, broadcast(2.0f)));
  const F32x16 square = mul(t, t);
  F32x16 p = broadcast(kAtanh[4]);
  p = fma(p, square, broadcast(kAtanh[3]));
  p = fma(p, square, broadcast(kAtanh[2]));
  p = fma(p, square, broadcast(kAtanh[1]));
  p = fma(p, square, broadcast(kAtanh[0]));
  const F32x16 twice = add(t, t);
  return fma(mul(p, square), twice, twice);
}

// x / (1 + exp(-x)). Below -88.7 the result is -0; the bound on the numerator keeps -inf from giving NaN.
OXBOW_INLINE F32x16 silu(F32x16 x) {
  return div(max(broadcast(-1000.0f), x), add(broadcast(1.0f), exp(neg(x))));
}

OXBOW_INLINE F32x16 sigmoid(F32x16 x) {
  return div(broadcast(1.0f), add(broadcast(1.0f), exp(neg(x))));
}

// Within 4 ulp: (1 - t) / (1 + t) with t = exp(-2 |x|), and the series of tanh where that would cancel.
OXBOW_INLINE F32x16 tanh(F32x16 x) {
  const F32x16 size = abs(x);
  const F32x16 t = exp(mul(broadcast(-2.0f), size));
  const F32x16 large = div(sub(broadcast(1.0f), t), add(broadcast(1.0f), t));
  const F32x16 square = mul(x, x);
  F32x16 p = fma(square, broadcast(kTanh[3]), broadcast(kTanh[2]));
  p = fma(p, square, broadcast(kTanh[1]));
  p = fma(p, square, broadcast(kTanh[0]));
  const F32x16 small = fma(mul(p, square), x, x);
  return select(less(size, broadcast(0.25f)), small, select(less(x, zero()), neg(large), large));
}

// x (1 + tanh(k (x + 0.044715 x^3))) / 2 with k = sqrt(2 / pi), written as x / (1 + exp(-2 k x (1 + 0.044715
// x^2))); the bound on the numerator is silu's.
OXBOW_INLINE F32x16 gelu(F32x16 x) {
  const F32x16 cubic = fma(mul(x, x), broadcast(0.044715f), broadcast(1.0f));
  const F32x16 twice = mul(mul(x, broadcast(1.5957691216f)), cubic);
  return div(max(broadcast(-1000.0f), x), add(broadcast(1.0f), exp(neg(twice))));
}

// log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)); x itself above 20.
OXBOW_INLINE F32x16 softplus(F32x16 x) {
  const F32x16 small = add(max(zero(), x), log1p_unit(exp(neg(abs(x)))));
  return select(less(broadcast(20.0f), x), x, small);
}

OXBOW_ISA_END
