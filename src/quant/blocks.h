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

// Values -> block bytes. F32, F16 and BF16 round to nearest even. Q8_0 takes the nearest codes. Q4_0, Q4_K,
// Q6_K, IQ4_NL, IQ4_XS and MXFP4 search the scales that minimise the squared error of a block. Values that
// the type cannot hold (infinities, NaN, magnitudes beyond its scales) are kInvalidInput, other types
// kUnsupported.
Status encode(TensorType type, std::span<const float> values, std::span<std::byte> blocks);

}  // namespace oxbow::quant
