#pragma once
// Element types of stored keys and values.

#include <cstddef>
#include <cstdint>

namespace oxbow::kernels {

enum class KvType : uint8_t { kF32, kF16 };

constexpr size_t kv_type_bytes(KvType type) {
  return type == KvType::kF32 ? 4 : 2;
}

inline constexpr size_t kKeyBlock =
    64;  // keys are processed in blocks that start at multiples of 64 positions

}  // namespace oxbow::kernels
