#pragma once
// What a GGUF file may contain; docs/formats/gguf.md lists these numbers. They are far above every real model
// and keep the memory that a hostile header can ask for in proportion to the file.

#include <cstddef>
#include <cstdint>

namespace oxbow::gguf {

inline constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
inline constexpr uint32_t kOldestVersion = 2;
inline constexpr uint32_t kNewestVersion = 3;

inline constexpr uint64_t kMaxNameBytes = 65535;  // of a key or a tensor name
inline constexpr uint64_t kMaxMetadata = 65536;
inline constexpr uint64_t kMaxTensors = 65536;  // of all parts together
inline constexpr uint32_t kMaxDimensions = 4;
inline constexpr int kMaxArrayDepth = 8;
inline constexpr uint64_t kMaxNestedArrays = uint64_t{1} << 20;

inline constexpr uint32_t kMinAlignment = 8;
inline constexpr uint32_t kMaxAlignment = 1 << 20;
inline constexpr uint32_t kDefaultAlignment = 32;

}  // namespace oxbow::gguf
