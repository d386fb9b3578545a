#pragma once
// Tensor types of GGUF files and their block sizes (docs/formats/tensor-types.md; the numbers are ggml's, as
// the GGUF specification lists them).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace oxbow::gguf {

enum class TensorType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kIQ4_NL = 20,
  kIQ4_XS = 23,
  kBF16 = 30,
  kMXFP4 = 39,
};

// A row of n elements is n / block_elements blocks of block_bytes each.
struct TensorTypeInfo {
  TensorType type;
  std::string_view name;
  uint32_t block_elements;
  uint32_t block_bytes;
};

// Nothing for numbers that this build does not know.
const TensorTypeInfo* find_tensor_type(uint32_t number);
// The format's own spelling, in any case ("Q4_K", "q4_k").
const TensorTypeInfo* find_tensor_type(std::string_view name);

// For a known type.
const TensorTypeInfo& tensor_type_info(TensorType type);

// The name of a type that ggml numbers but this build does not decode ("IQ3_S"); empty for every other
// number.
std::string_view undecoded_type_name(uint32_t number);

// Bytes of `elements` consecutive values (a multiple of the block); nothing on overflow or a partial block.
std::optional<uint64_t> tensor_bytes(TensorType type, uint64_t elements);

}  // namespace oxbow::gguf
