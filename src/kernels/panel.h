#pragma once
// Weight matrices repacked for the matrix product: panels of 16 rows, so that one vector holds 16 outputs.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "gguf/tensor_type.h"

namespace oxbow::kernels {

inline constexpr size_t kPanelRows = 16;
inline constexpr size_t kActivationBlock = 32;  // activations are quantised per 32 values of a row

// How a panel's bytes are laid out; body/panel_formats.h describes each. Every format keeps the exact values
// of the GGUF blocks it was packed from.
enum class PanelFormat : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ2_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4
};

// The format a tensor type packs to (Q3_K shares Q6_K's).
PanelFormat panel_format(gguf::TensorType type);

// Quantised formats multiply 8-bit activations; float formats take the f32 rows as they are.
bool takes_quantized_rows(PanelFormat format);

// Bytes of one panel of 16 rows of `cols` values, a multiple of 64. cols is a multiple of the source type's
// block.
size_t panel_bytes(PanelFormat format, size_t cols);

// Packs `rows` (1 to 16) rows of a tensor, row_bytes apart, into one panel; missing rows become zeros.
void pack_panel(gguf::TensorType type, const std::byte* source, size_t row_bytes, size_t rows, size_t cols,
                std::byte* panel);

// A packed matrix: ceil(rows / 16) panels one after the other.
struct PanelMatrix {
  PanelFormat format = PanelFormat::kF32;
  size_t rows = 0;
  size_t cols = 0;
  size_t panel_stride = 0;  // bytes
  const std::byte* panels = nullptr;

  size_t panel_count() const { return (rows + kPanelRows - 1) / kPanelRows; }
};

}  // namespace oxbow::kernels
