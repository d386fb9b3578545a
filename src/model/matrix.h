#pragma once
// Weight matrices and y = W x.

#include <cstddef>
#include <span>

#include "kernels/kernels.h"
#include "model/step_context.h"
#include "model/weight_arena.h"

namespace oxbow::model {

// Packed weights of one or several (experts) matrices of the same shape.
class Matrix {
 public:
  Matrix() = default;
  Matrix(kernels::PanelFormat format, size_t rows, size_t cols, size_t count, WeightBytes panels);

  size_t rows() const { return view_.rows; }  // outputs
  size_t cols() const { return view_.cols; }  // inputs
  size_t count() const { return count_; }
  size_t size_bytes() const { return count_ * view_.panel_count() * view_.panel_stride; }
  bool takes_quantized_rows() const { return kernels::takes_quantized_rows(view_.format); }
  kernels::PanelMatrix view(size_t index = 0) const;

 private:
  kernels::PanelMatrix view_;
  size_t count_ = 0;
  WeightBytes panels_;
};

// Rows of activations for one or several products, quantised when a matrix asks for it. `quantized` must have
// room for the rows (Carver::quantized); it is filled in parallel.
kernels::Activations make_activations(const StepContext& context, const float* values, size_t stride,
                                      size_t rows, size_t cols, bool quantize,
                                      const kernels::QuantizedRows& quantized);

// Rows [first, first + count) of x.
kernels::Activations rows_of(const kernels::Activations& x, size_t first, size_t count);

// y[t, r] for all rows of x.
void multiply(const StepContext& context, const Matrix& w, const kernels::Activations& x, float* y,
              size_t y_stride);

}  // namespace oxbow::model
