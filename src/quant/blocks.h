#pragma once
// Block formats of quantised tensors: the scalar reference that every kernel is tested against.

#include <cstddef>
#include <span>

#include "base/status.h"
#include "gguf/tensor_type.h"

namespace oxbow::quant {

using gguf::TensorType;

// Block bytes -> values. values.size() must be a multiple of the block and blocks must hold exactly that many
// values. Every known type; bit for bit what the formats define (one rounding per f32 operation).
void decode(TensorType type, std::span<const std::byte> blocks, std::span<float> values);

// Values -> block bytes, nearest codes. F32, F16 and BF16 (round to nearest even) and Q8_0; kUnsupported for
// others.
Status encode(TensorType type, std::span<const float> values, std::span<std::byte> blocks);

}  // namespace oxbow::quant
