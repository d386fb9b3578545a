#pragma once
// The matrix product over panels of floats: y = even + odd, the fused sums of the even and of the odd columns
// in ascending order.

#include "kernels/kernels.h"
#include "kernels/simd/i8x64.h"

OXBOW_ISA_BEGIN

struct F32Reader {
  using Value = float;
  OXBOW_INLINE static F32x16 read(const Value* p) { return load(p); }
};
struct F16Reader {
  using Value = uint16_t;
  OXBOW_INLINE static F32x16 read(const Value* p) { return load_f16(p); }
};
struct BF16Reader {
  using Value = uint16_t;
  OXBOW_INLINE static F32x16 read(const Value* p) { return load_bf16(p); }
};

template <class Reader, size_t kTile>
[[gnu::noinline]] void multiply_floats(const typename Reader::Value* w, size_t cols, const float* x,
                                       size_t x_stride, size_t lanes, float* y, size_t y_stride) {
  F32x16 even[kTile];
  F32x16 odd[kTile];
  OXBOW_UNROLL
  for (size_t t = 0; t < kTile; ++t) even[t] = odd[t] = zero();
  size_t k = 0;
  for (; k + 2 <= cols; k += 2) {
    const F32x16 first = Reader::read(w + kPanelRows * k);
    const F32x16 second = Reader::read(w + kPanelRows * (k + 1));
    OXBOW_UNROLL
    for (size_t t = 0; t < kTile; ++t) {
      even[t] = fma(first, broadcast(x[t * x_stride + k]), even[t]);
      odd[t] = fma(second, broadcast(x[t * x_stride + k + 1]), odd[t]);
    }
  }
  if (k < cols) {
    const F32x16 last = Reader::read(w + kPanelRows * k);
    OXBOW_UNROLL
    for (size_t t = 0; t < kTile; ++t) even[t] = fma(last, broadcast(x[t * x_stride + k]), even[t]);
  }
  OXBOW_UNROLL
  for (size_t t = 0; t < kTile; ++t) store_partial(y + t * y_stride, add(even[t], odd[t]), lanes);
}

template <class Reader>
void matmul_floats(const PanelMatrix& w, const Activations& x, size_t panel_begin, size_t panel_end, float* y,
                   size_t y_stride) {
  for (size_t p = panel_begin; p < panel_end; ++p) {
    const auto* panel = reinterpret_cast<const typename Reader::Value*>(w.panels + p * w.panel_stride);
    const size_t rest = w.rows - p * kPanelRows;
    const size_t lanes = rest < kPanelRows ? rest : kPanelRows;
    float* part = y + p * kPanelRows;
    size_t t = 0;
    const auto multiply = [&]<size_t kTile>() {
      for (; t + kTile <= x.rows; t += kTile) {
        multiply_floats<Reader, kTile>(panel, w.cols, x.values + t * x.stride, x.stride, lanes,
                                       part + t * y_stride, y_stride);
      }
    };
    if constexpr (kVectorRegisters >= 32) {
      multiply.template operator()<8>();
      multiply.template operator()<4>();
    }
    multiply.template operator()<2>();
    multiply.template operator()<1>();
  }
}

OXBOW_ISA_END
