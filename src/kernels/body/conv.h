#pragma once
// Depthwise causal convolution of one token over the last tap_count inputs.

#include "kernels/body/math.h"
#include "kernels/body/row.h"

OXBOW_ISA_BEGIN

inline void conv(const float* const* taps, const float* weights, const float* bias, size_t tap_count,
                 size_t channels, bool with_silu, float* y) {
  for_each_vector(channels, [&](size_t c, size_t count) {
    F32x16 sum = bias != nullptr ? load_up_to(bias + c, count) : zero();
    for (size_t i = 0; i < tap_count; ++i) {
      sum = fma(load_up_to(weights + i * channels + c, count), load_up_to(taps[i] + c, count), sum);
    }
    store_up_to(y + c, with_silu ? silu(sum) : sum, count);
  });
}

OXBOW_ISA_END
