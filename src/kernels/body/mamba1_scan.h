#pragma once
// Mamba-1 recurrence (Gu & Dao 2023), token after token.
//
// Channels are lanes. Every state has a decay of its own, so each of the s entries of a channel costs one
// exponential per token; the [s, 16] tile of a block (1 KB at s = 16) stays in the first-level cache for all
// tokens.

#include "kernels/body/math.h"
#include "kernels/body/row.h"

OXBOW_ISA_BEGIN

// One channel block, one token: updates the tile; returns S c, or nothing of use when c is null. Entry n is
// added to accumulator n mod 4 and the four are combined as (0 + 1) + (2 + 3).
OXBOW_INLINE F32x16 mamba1_token(F32x16 dt, F32x16 dx, const float* a, const float* b, const float* c,
                                 size_t s, float* tile) {
  F32x16 y0 = zero(), y1 = zero(), y2 = zero(), y3 = zero();
  const auto step = [&](size_t n, F32x16 y) {
    const F32x16 decay = exp(mul(dt, load(a + n * kLanes)));
    const F32x16 next = fma(dx, broadcast(b[n]), mul(decay, load(tile + n * kLanes)));
    store(tile + n * kLanes, next);
    return c != nullptr ? fma(next, broadcast(c[n]), y) : y;
  };
  size_t n = 0;
  for (; n + 4 <= s; n += 4) {
    y0 = step(n, y0);
    y1 = step(n + 1, y1);
    y2 = step(n + 2, y2);
    y3 = step(n + 3, y3);
  }
  if (n < s) y0 = step(n, y0);
  if (n + 1 < s) y1 = step(n + 1, y1);
  if (n + 2 < s) y2 = step(n + 2, y2);
  return add(add(y0, y1), add(y2, y3));
}

inline void mamba1_scan(const Mamba1ScanArgs& args) {
  const size_t block = args.state_size * kLanes;
  for (size_t p = 0; p < args.channels; p += kLanes) {
    const size_t lanes = args.channels - p;
    const float* a = args.a + p / kLanes * block;
    float* tile = args.state + p / kLanes * block;
    const F32x16 skip = load_up_to(args.d + p, lanes);
    for (size_t t = 0; t < args.tokens; ++t) {
      const F32x16 x = load_up_to(args.x + t * args.x_stride + p, lanes);
      const F32x16 dt = load_up_to(args.dt + t * args.dt_stride + p, lanes);
      const float* c = args.y != nullptr ? args.c + t * args.bc_stride : nullptr;
      const F32x16 sum =
          mamba1_token(dt, mul(dt, x), a, args.b + t * args.bc_stride, c, args.state_size, tile);
      if (args.y != nullptr) store_up_to(args.y + t * args.y_stride + p, fma(skip, x, sum), lanes);
    }
  }
}

OXBOW_ISA_END
