#pragma once
// Mamba-2 recurrence of one head (Dao & Gu 2024), token after token.
//
// Channels are lanes. For each block of 16 channels the [s, 16] tile of the state (8 KB at s = 128) passes
// through all tokens of a run before the next block is touched, so it stays in the first-level cache during a
// prompt and is streamed exactly once per decoded token.

#include "kernels/body/math.h"
#include "kernels/body/row.h"

OXBOW_ISA_BEGIN

inline constexpr size_t kScanRun = 64;  // tokens whose decays are computed together

// One channel block, one token: updates the tile and returns S c. Column n is added to accumulator n mod 4
// and the four are combined as (0 + 1) + (2 + 3).
OXBOW_INLINE F32x16 scan_token(F32x16 decay, F32x16 dx, const float* b, const float* c, size_t s,
                               float* tile) {
  F32x16 y0 = zero(), y1 = zero(), y2 = zero(), y3 = zero();
  const auto step = [&](size_t n, F32x16 y) {
    const F32x16 next = fma(dx, broadcast(b[n]), mul(decay, load(tile + n * kLanes)));
    store(tile + n * kLanes, next);
    return fma(next, broadcast(c[n]), y);
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

// decay[t] = exp(dt a) of a run of tokens.
OXBOW_INLINE void scan_decays(const Mamba2ScanArgs& args, size_t first, size_t count, float* decay) {
  for_each_vector(count, [&](size_t t, size_t lanes) {
    float dt[kLanes] = {};
    for (size_t i = 0; i < lanes; ++i) dt[i] = args.dt[(first + t + i) * args.dt_stride];
    store(decay + t, exp(mul(load(dt), broadcast(args.a))));
  });
}

inline void mamba2_scan(const Mamba2ScanArgs& args) {
  const size_t s = args.state_size;
  const F32x16 skip = broadcast(args.d);
  for (size_t first = 0; first < args.tokens; first += kScanRun) {
    const size_t count = args.tokens - first < kScanRun ? args.tokens - first : kScanRun;
    float decay[kScanRun];
    scan_decays(args, first, count, decay);
    float* tile = args.state;
    for (size_t p = 0; p < args.head_dim; p += kLanes, tile += s * kLanes) {
      const size_t lanes = args.head_dim - p;
      for (size_t i = 0; i < count; ++i) {
        const size_t t = first + i;
        const F32x16 x = load_up_to(args.x + t * args.x_stride + p, lanes);
        const F32x16 dx = mul(broadcast(args.dt[t * args.dt_stride]), x);
        const F32x16 sum = scan_token(broadcast(decay[i]), dx, args.b + t * args.bc_stride,
                                      args.c + t * args.bc_stride, s, tile);
        if (args.y != nullptr) store_up_to(args.y + t * args.y_stride + p, fma(skip, x, sum), lanes);
      }
    }
  }
}

OXBOW_ISA_END
