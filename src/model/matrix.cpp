#include "model/matrix.h"

#include <algorithm>

namespace oxbow::model {
namespace {

// Ranges small enough to balance threads, long enough to stream memory.
size_t panel_grain(size_t panels, int threads) {
  return std::max<size_t>(1, panels / (static_cast<size_t>(threads) * 4));
}

}  // namespace

Matrix::Matrix(kernels::PanelFormat format, size_t rows, size_t cols, size_t count, WeightBytes panels)
    : count_(count), panels_(std::move(panels)) {
  view_.format = format;
  view_.rows = rows;
  view_.cols = cols;
  view_.panel_stride = kernels::panel_bytes(format, cols);
  view_.panels = panels_.get();
}

kernels::PanelMatrix Matrix::view(size_t index) const {
  kernels::PanelMatrix view = view_;
  view.panels = panels_.get() + index * view.panel_count() * view.panel_stride;
  return view;
}

kernels::Activations make_activations(const StepContext& context, const float* values, size_t stride,
                                      size_t rows, size_t cols, bool quantize,
                                      const kernels::QuantizedRows& quantized) {
  kernels::Activations x;
  x.values = values;
  x.stride = stride;
  x.rows = rows;
  if (!quantize) return x;
  x.quantized = quantized;
  context.pool.run(rows, 4, [&](size_t begin, size_t end, int) {
    kernels::QuantizedRows part = quantized;
    part.codes += begin * quantized.code_stride;
    part.scales += begin * quantized.block_stride;
    part.sums += 2 * begin * quantized.block_stride;
    context.kernels.quantize_rows(values + begin * stride, stride, end - begin, cols, part);
  });
  return x;
}

kernels::Activations rows_of(const kernels::Activations& x, size_t first, size_t count) {
  kernels::Activations rows = x;
  rows.rows = count;
  rows.values += first * x.stride;
  rows.quantized.codes += first * x.quantized.code_stride;
  rows.quantized.scales += first * x.quantized.block_stride;
  rows.quantized.sums += 2 * first * x.quantized.block_stride;
  return rows;
}

void multiply(const StepContext& context, const Matrix& w, const kernels::Activations& x, float* y,
              size_t y_stride) {
  const kernels::PanelMatrix view = w.view();
  const size_t panels = view.panel_count();
  context.pool.run(panels, panel_grain(panels, context.pool.size()), [&](size_t begin, size_t end, int) {
    context.kernels.matmul(view, x, begin, end, y, y_stride);
  });
}

}  // namespace oxbow::model
