#pragma once
// What the units of one instruction set define: NAME.cpp the table, NAME_products.cpp the matrix product,
// which takes as long to compile as everything else together.

#include "kernels/kernels.h"

#define OXBOW_ISA_UNITS(name)                                                                         \
  namespace name {                                                                                    \
  extern const KernelTable kTable;                                                                    \
  void quantize_rows_entry(const float* values, size_t stride, size_t rows, size_t cols,              \
                           const QuantizedRows& out);                                                 \
  void matmul_entry(const PanelMatrix& w, const Activations& x, size_t panel_begin, size_t panel_end, \
                    float* y, size_t y_stride);                                                       \
  }

namespace oxbow::kernels {

OXBOW_ISA_UNITS(portable)
OXBOW_ISA_UNITS(avx2)
OXBOW_ISA_UNITS(avx512)

}  // namespace oxbow::kernels

#undef OXBOW_ISA_UNITS
