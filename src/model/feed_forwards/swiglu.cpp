#include "model/feed_forwards/swiglu.h"

#include <algorithm>

namespace oxbow::model {

struct Swiglu::Buffers {
  kernels::QuantizedRows quantized;
  float* gate;  // [rows, width]
  float* up;
};

size_t Swiglu::weight_bytes() const {
  return weights_.gate.size_bytes() + weights_.up.size_bytes() + weights_.down.size_bytes();
}

Swiglu::Buffers Swiglu::carve(Carver& carver, size_t rows) const {
  Buffers buffers;
  buffers.gate = carver.floats(rows * weights_.gate.rows());
  buffers.up = carver.floats(rows * weights_.up.rows());
  buffers.quantized = carver.quantized(rows, std::max(weights_.gate.cols(), weights_.down.cols()));
  return buffers;
}

size_t Swiglu::scratch_bytes(size_t rows, int) const {
  Carver carver;
  carve(carver, rows);
  return carver.used_bytes();
}

void Swiglu::run(const StepContext& context, const float* x, float* y) const {
  const size_t rows = context.rows();
  const size_t embedding = weights_.gate.cols();
  const size_t width = weights_.gate.rows();
  Carver carver(context.scratch);
  const Buffers buffers = carve(carver, rows);
  const auto input = make_activations(
      context, x, embedding, rows, embedding,
      weights_.gate.takes_quantized_rows() || weights_.up.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.gate, input, buffers.gate, width);
  multiply(context, weights_.up, input, buffers.up, width);
  context.pool.run(rows, 2, [&](size_t begin, size_t end, int) {
    context.kernels.silu_mul(buffers.gate + begin * width, buffers.up + begin * width, (end - begin) * width,
                             buffers.gate + begin * width);
  });
  const auto hidden = make_activations(context, buffers.gate, width, rows, width,
                                       weights_.down.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.down, hidden, y, embedding);
}

}  // namespace oxbow::model
