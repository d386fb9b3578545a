#pragma once
// Delta rule with a decay per key (Peng et al. 2025), one head, token after token. Kimi delta attention is
// the case where what is unlearned lies along the key that is stored.
//
// Values are lanes, tiles of 16 values pass through all tokens, and each token reads its tile twice, as in
// delta_rule.

#include "kernels/body/key_sum.h"
#include "kernels/body/row.h"

OXBOW_ISA_BEGIN

// One tile, one token: what the state holds under a leaves it along b, v comes in along k. Returns S^T q, or
// nothing of use when q is null.
OXBOW_INLINE F32x16 general_delta_token(const GeneralDeltaRuleArgs& args, size_t t, F32x16 v, float* tile) {
  const size_t keys = args.key_dim;
  const float* w = args.w + t * args.key_stride;
  const float* a = args.a + t * args.key_stride;
  const float* b = args.b + t * args.key_stride;
  const float* k = args.k + t * args.key_stride;
  const F32x16 held = sum_keys(
      keys, [&](size_t n, F32x16 sum) { return fma(load(tile + n * kLanes), broadcast(a[n]), sum); });
  const auto update = [&](size_t n) {
    const F32x16 kept = fnma(held, broadcast(b[n]), mul(broadcast(w[n]), load(tile + n * kLanes)));
    const F32x16 next = fma(v, broadcast(k[n]), kept);
    store(tile + n * kLanes, next);
    return next;
  };
  if (args.y == nullptr) {
    for (size_t n = 0; n < keys; ++n) update(n);
    return held;
  }
  const float* q = args.q + t * args.q_stride;
  return sum_keys(keys, [&](size_t n, F32x16 sum) { return fma(update(n), broadcast(q[n]), sum); });
}

inline void general_delta_rule(const GeneralDeltaRuleArgs& args) {
  const F32x16 scale = broadcast(args.scale);
  float* tile = args.state;
  for (size_t p = 0; p < args.value_dim; p += kLanes, tile += args.key_dim * kLanes) {
    const size_t lanes = args.value_dim - p;
    for (size_t t = 0; t < args.tokens; ++t) {
      const F32x16 v = load_up_to(args.v + t * args.v_stride + p, lanes);
      const F32x16 y = general_delta_token(args, t, v, tile);
      if (args.y != nullptr) store_up_to(args.y + t * args.y_stride + p, mul(scale, y), lanes);
    }
  }
}

OXBOW_ISA_END
