#pragma once
// The matrix product of one instruction set. Included by isa/NAME_products.cpp and nowhere else.

#include "kernels/body/matmul.h"
#include "kernels/body/quantize.h"
#include "kernels/isa/tables.h"

namespace oxbow::kernels::OXBOW_ISA {

void quantize_rows_entry(const float* values, size_t stride, size_t rows, size_t cols,
                         const QuantizedRows& out) {
  quantize_rows(values, stride, rows, cols, out);
}

void matmul_entry(const PanelMatrix& w, const Activations& x, size_t panel_begin, size_t panel_end, float* y,
                  size_t y_stride) {
  matmul(w, x, panel_begin, panel_end, y, y_stride);
}

}  // namespace oxbow::kernels::OXBOW_ISA
