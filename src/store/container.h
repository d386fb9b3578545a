#pragma once
// What the writer and the reader of containers share (docs/formats/container.md).

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

namespace oxbow::stores {

inline constexpr uint32_t kContainerVersion = 1;

// Data of sections starts at multiples of this.
inline constexpr size_t kSectionAlignment = 64;

// More sections than this are refused.
inline constexpr uint32_t kMaxSections = uint32_t{1} << 20;

// Of model and numeric settings; made and compared by the caller.
using Fingerprint = std::array<std::byte, 16>;

enum class ObjectKind : uint32_t {
  kSession = 1,     // a saved conversation
  kCheckpoint = 2,  // the recurrent state and the tail of a prefix
  kSegment = 3,     // K/V pages of a run of tokens
};

// Unique within a container.
struct SectionId {
  uint32_t kind = 0;
  uint32_t index = 0;  // counts sections of one kind

  friend auto operator<=>(const SectionId&, const SectionId&) = default;
};

// "kind 3 index 0", as errors name it.
std::string to_string(SectionId id);

struct Section {
  SectionId id;
  bool compressed = false;
  uint64_t offset = 0;  // from the start of the container
  uint64_t stored_bytes = 0;
  uint64_t raw_bytes = 0;  // after decompression; as stored without
  uint64_t checksum = 0;   // XXH3-64 of the stored bytes
};

namespace layout {

// Sizes of the fixed parts; their fields are read and written by offset.
inline constexpr size_t kHeaderBytes = 64;
inline constexpr size_t kEntryBytes = 48;
inline constexpr size_t kTrailerBytes = 40;
inline constexpr uint32_t kCompressedFlag = 1;
inline constexpr uint64_t kMagic = 0x584f42574f42584f;     // "OXBOWBOX"
inline constexpr uint64_t kEndMagic = 0x444e45574f42584f;  // "OXBOWEND"

}  // namespace layout
}  // namespace oxbow::stores
