#include "model/feed_forwards/dense.h"

#include <algorithm>

namespace oxbow::model {

struct Dense::Buffers {
  kernels::QuantizedRows quantized;
  float* gate;  // [rows, width]
  float* up;
  float* output_gate;  // [rows]
};

size_t Dense::weight_bytes() const {
  return weights_.gate.size_bytes() + weights_.up.size_bytes() + weights_.down.size_bytes() +
         weights_.output_gate.size_bytes();
}

Dense::Buffers Dense::carve(Carver& carver, size_t rows) const {
  Buffers buffers;
  buffers.gate = carver.floats(rows * weights_.gate.rows());
  buffers.up = carver.floats(rows * weights_.up.rows());
  buffers.output_gate = carver.floats(rows * weights_.output_gate.rows());
  buffers.quantized = carver.quantized(rows, std::max(weights_.up.cols(), weights_.down.cols()));
  return buffers;
}

size_t Dense::scratch_bytes(size_t rows, int) const {
  Carver carver;
  carve(carver, rows);
  return carver.used_bytes();
}

void Dense::run(const StepContext& context, size_t, const float* x, float* y) const {
  const size_t rows = context.rows();
  const size_t embedding = weights_.up.cols();
  const size_t width = weights_.up.rows();
  const bool gated_output = weights_.output_gate.rows() > 0;
  Carver carver(context.scratch);
  const Buffers buffers = carve(carver, rows);
  bool quantize = weights_.up.takes_quantized_rows();
  if (has_gate(activation_)) quantize |= weights_.gate.takes_quantized_rows();
  if (gated_output) quantize |= weights_.output_gate.takes_quantized_rows();
  const auto input = make_activations(context, x, embedding, rows, embedding, quantize, buffers.quantized);
  if (has_gate(activation_)) multiply(context, weights_.gate, input, buffers.gate, width);
  multiply(context, weights_.up, input, buffers.up, width);
  if (gated_output) multiply(context, weights_.output_gate, input, buffers.output_gate, 1);
  activate(context, activation_, buffers.gate, buffers.up, rows, width);
  const auto hidden = make_activations(context, buffers.up, width, rows, width,
                                       weights_.down.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.down, hidden, y, embedding);
  if (!gated_output) return;
  context.pool.run(rows, 8, [&](size_t begin, size_t end, int) {
    context.kernels.sigmoid(buffers.output_gate + begin, end - begin, buffers.output_gate + begin);
    for (size_t row = begin; row < end; ++row) {
      context.kernels.scale(y + row * embedding, buffers.output_gate[row], embedding, y + row * embedding);
    }
  });
}

}  // namespace oxbow::model
