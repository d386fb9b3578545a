#pragma once
// Gated delta rule of one head (Yang et al. 2024), token after token.
//
// Values are lanes. For each block of 16 values the [key_dim, 16] tile of the state (8 KB at 128 keys) passes
// through all tokens before the next block is touched. A token reads the tile twice: once for what the state
// holds under its key, once to write the correction and read the answer to its query.

#include "kernels/body/key_sum.h"
#include "kernels/body/math.h"
#include "kernels/body/row.h"

OXBOW_ISA_BEGIN

inline void delta_rule(const DeltaRuleArgs& args) {
  constexpr size_t kRun = 64;  // tokens whose decays are computed together
  const size_t keys = args.key_dim;
  const F32x16 scale = broadcast(args.scale);
  for (size_t first = 0; first < args.tokens; first += kRun) {
    const size_t count = args.tokens - first < kRun ? args.tokens - first : kRun;
    float decays[kRun];
    for_each_vector(count, [&](size_t t, size_t lanes) {
      float dt[kLanes] = {};
      for (size_t i = 0; i < lanes; ++i) dt[i] = args.dt[(first + t + i) * args.gate_stride];
      store(decays + t, exp(mul(load(dt), broadcast(args.a))));
    });
    float* tile = args.state;
    for (size_t p = 0; p < args.value_dim; p += kLanes, tile += keys * kLanes) {
      const size_t lanes = args.value_dim - p;
      for (size_t i = 0; i < count; ++i) {
        const size_t t = first + i;
        const float* k = args.k + t * args.qkv_stride;
        const F32x16 decay = broadcast(decays[i]);
        const F32x16 held = sum_keys(keys, [&](size_t n, F32x16 sum) {
          return fma(mul(decay, load(tile + n * kLanes)), broadcast(k[n]), sum);
        });
        const F32x16 v = load_up_to(args.v + t * args.qkv_stride + p, lanes);
        const F32x16 u = mul(broadcast(args.beta[t * args.gate_stride]), sub(v, held));
        const auto update = [&](size_t n) {
          const F32x16 next = fma(u, broadcast(k[n]), mul(decay, load(tile + n * kLanes)));
          store(tile + n * kLanes, next);
          return next;
        };
        if (args.y == nullptr) {
          for (size_t n = 0; n < keys; ++n) update(n);
          continue;
        }
        const float* q = args.q + t * args.qkv_stride;
        const F32x16 y =
            sum_keys(keys, [&](size_t n, F32x16 sum) { return fma(update(n), broadcast(q[n]), sum); });
        store_up_to(args.y + t * args.y_stride + p, mul(scale, y), lanes);
      }
    }
  }
}

OXBOW_ISA_END
