#pragma once
// The middle of a feed-forward: what happens between its first and its last product.

#include <cstdint>

#include "model/step_context.h"

namespace oxbow::model {

enum class Activation : uint8_t {
  kSilu,         // silu(gate) * up (SwiGLU, Shazeer 2020)
  kGelu,         // gelu(gate) * up, tanh form
  kReluSquared,  // max(up, 0)^2, no gate (So et al. 2021)
};

constexpr bool has_gate(Activation activation) {
  return activation != Activation::kReluSquared;
}

// gate, up: [rows, width]; the result replaces up. gate is not read when the activation has none.
inline void activate(const StepContext& context, Activation activation, const float* gate, float* up,
                     size_t rows, size_t width) {
  context.pool.run(rows, 2, [&](size_t begin, size_t end, int) {
    float* first = up + begin * width;
    const size_t count = (end - begin) * width;
    switch (activation) {
      case Activation::kSilu:
        return context.kernels.silu_mul(gate + begin * width, first, count, first);
      case Activation::kGelu:
        return context.kernels.gelu_mul(gate + begin * width, first, count, first);
      case Activation::kReluSquared:
        return context.kernels.relu_squared(first, count, first);
    }
  });
}

}  // namespace oxbow::model
