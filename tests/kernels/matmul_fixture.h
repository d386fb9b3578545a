#pragma once
// Random tensors of every type, packed panels and quantised activations for the tests of the matrix product.

#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "gguf/tensor_type.h"
#include "kernels/kernels.h"
#include "quant/blocks.h"
#include "quant/half.h"

namespace oxbow::kernels::testing {

using gguf::TensorType;

inline constexpr TensorType kTensorTypes[] = {
    TensorType::kF32,  TensorType::kF16,    TensorType::kBF16,   TensorType::kQ8_0,
    TensorType::kQ4_0, TensorType::kQ4_1,   TensorType::kQ5_0,   TensorType::kQ5_1,
    TensorType::kQ2_K, TensorType::kQ3_K,   TensorType::kQ4_K,   TensorType::kQ5_K,
    TensorType::kQ6_K, TensorType::kIQ4_NL, TensorType::kIQ4_XS, TensorType::kMXFP4};

// Byte offsets of the binary16 values in a block; everything else in it may be any bits (MXFP4: the exponent
// in byte 0 as well, but large ones overflow products).
inline std::vector<size_t> half_offsets(TensorType type) {
  switch (type) {
    case TensorType::kQ4_1:
    case TensorType::kQ5_1:
    case TensorType::kQ4_K:
    case TensorType::kQ5_K:
      return {0, 2};
    case TensorType::kQ2_K:
      return {80, 82};
    case TensorType::kQ3_K:
      return {108};
    case TensorType::kQ6_K:
      return {208};
    case TensorType::kF32:
    case TensorType::kBF16:
    case TensorType::kMXFP4:
      return {};
    default:
      return {0};
  }
}

// Sets what scales a whole block: the binary16 values, or the exponent next to log2 |scale|.
inline void set_scales(TensorType type, std::byte* block, float scale) {
  if (type == TensorType::kMXFP4) *block = static_cast<std::byte>(127 + std::ilogb(scale));
  const uint16_t half = quant::float_to_half(scale);
  for (size_t offset : half_offsets(type)) std::memcpy(block + offset, &half, 2);
}

// A matrix [rows, cols] in its file form, and its exact values.
struct Weights {
  TensorType type;
  size_t rows;
  size_t cols;
  std::vector<std::byte> blocks;
  std::vector<float> values;

  size_t row_bytes() const { return blocks.size() / rows; }
};

// Every bit of the codes and scales random; binary16 scales in (-scale_limit, scale_limit).
inline Weights random_weights(TensorType type, size_t rows, size_t cols, uint32_t seed,
                              float scale_limit = 0.1f) {
  std::mt19937 random(seed);
  Weights w{type, rows, cols, {}, std::vector<float>(rows * cols)};
  w.blocks.resize(*gguf::tensor_bytes(type, rows * cols));
  std::uniform_real_distribution<float> uniform(-scale_limit, scale_limit);
  const gguf::TensorTypeInfo& info = gguf::tensor_type_info(type);
  if (info.block_elements == 1) {
    std::vector<float> values(rows * cols);
    for (float& v : values) v = uniform(random);
    const Status encoded = quant::encode(type, values, w.blocks);
    if (!encoded) std::abort();
  } else {
    for (std::byte& b : w.blocks) b = static_cast<std::byte>(random());
    for (size_t block = 0; block < w.blocks.size(); block += info.block_bytes) {
      for (size_t offset : half_offsets(type)) {
        const uint16_t half = quant::float_to_half(uniform(random));
        std::memcpy(w.blocks.data() + block + offset, &half, 2);
      }
      if (type == TensorType::kMXFP4) set_scales(type, w.blocks.data() + block, uniform(random));
    }
  }
  quant::decode(type, w.blocks, w.values);
  return w;
}

// Panels that may start at any address of the panel's alignment.
struct Packed {
  std::vector<std::byte> bytes;
  PanelMatrix matrix;
};

inline Packed pack(const Weights& w) {
  Packed packed;
  packed.matrix.format = panel_format(w.type);
  packed.matrix.rows = w.rows;
  packed.matrix.cols = w.cols;
  packed.matrix.panel_stride = panel_bytes(packed.matrix.format, w.cols);
  packed.bytes.resize(packed.matrix.panel_count() * packed.matrix.panel_stride);
  for (size_t p = 0; p < packed.matrix.panel_count(); ++p) {
    pack_panel(w.type, w.blocks.data() + p * kPanelRows * w.row_bytes(), w.row_bytes(),
               std::min(kPanelRows, w.rows - p * kPanelRows), w.cols,
               packed.bytes.data() + p * packed.matrix.panel_stride);
  }
  packed.matrix.panels = packed.bytes.data();
  return packed;
}

// Activations as floats and quantised. `gap` pads the rows of every array.
struct Rows {
  size_t rows;
  size_t cols;
  size_t gap;
  std::vector<float> values;
  std::vector<int8_t> codes;
  std::vector<float> scales;
  std::vector<int32_t> sums;

  size_t blocks() const { return (cols + 31) / 32; }
  Activations view(size_t first = 0) {
    Activations x;
    x.stride = cols + gap;
    x.values = values.data() + first * x.stride;
    x.quantized.code_stride = 32 * blocks() + gap;
    x.quantized.block_stride = blocks() + gap;
    x.quantized.codes = codes.data() + first * x.quantized.code_stride;
    x.quantized.scales = scales.data() + first * x.quantized.block_stride;
    x.quantized.sums = sums.data() + 2 * first * x.quantized.block_stride;
    x.rows = rows - first;
    return x;
  }
};

inline Rows empty_rows(size_t rows, size_t cols, size_t gap) {
  Rows r{rows, cols, gap, {}, {}, {}, {}};
  r.values.resize(rows * (cols + gap));
  r.codes.resize(rows * (32 * r.blocks() + gap));
  r.scales.resize(rows * (r.blocks() + gap));
  r.sums.resize(2 * rows * (r.blocks() + gap));
  return r;
}

inline void quantize(const KernelTable& table, Rows& r) {
  const Activations view = r.view();
  table.quantize_rows(view.values, view.stride, r.rows, r.cols / 32 * 32, view.quantized);
}

// Normal values with a few large ones, quantised by the first table.
inline Rows random_rows(size_t rows, size_t cols, uint32_t seed, size_t gap = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Rows r = empty_rows(rows, cols, gap);
  for (float& v : r.values) v = normal(random) * (random() % 61 == 0 ? 20.0f : 1.0f);
  quantize(*available_kernels().front(), r);
  return r;
}

// What the product sees of row t: the values themselves, or scale * code.
inline std::vector<double> seen_row(Rows& r, size_t t, bool quantized) {
  const Activations view = r.view(t);
  std::vector<double> row(r.cols);
  for (size_t i = 0; i < r.cols; ++i) {
    row[i] = quantized ? static_cast<double>(view.quantized.scales[i / 32]) * view.quantized.codes[i]
                       : static_cast<double>(view.values[i]);
  }
  return row;
}

}  // namespace oxbow::kernels::testing
