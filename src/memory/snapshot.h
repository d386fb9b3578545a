#pragma once
// Checkpoints of one sequence as sections of a container (docs/formats/session.md).

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "memory/checkpoint.h"
#include "memory/layout.h"
#include "memory/state_spec.h"
#include "store/container_reader.h"
#include "store/container_writer.h"
#include "store/object.h"

namespace oxbow::memory {

namespace snapshot {

// Kinds of sections.
inline constexpr uint32_t kTokens = 1;       // i32 each
inline constexpr uint32_t kCheckpoints = 2;  // the table of checkpoints
inline constexpr uint32_t kBlock = 3;        // one counted block; the index is its number
inline constexpr uint32_t kFirstFree = 16;   // kinds from here on belong to the caller

inline constexpr size_t kMostTokens = size_t{1} << 26;

// In a store, the pages of whole runs of this many positions are objects of their own, shared by all
// checkpoints of a prefix.
inline constexpr size_t kSegmentTokens = 1024;
inline constexpr size_t kSegmentPages = kSegmentTokens / kPagePositions;

}  // namespace snapshot

// A checkpoint whose blocks are numbers of sections.
struct StoredCheckpoint {
  static constexpr uint32_t kNoBlock = UINT32_MAX;
  static constexpr uint32_t kInSegment = UINT32_MAX - 1;  // a page that is in the segment of its positions
  struct StoredBase {
    uint64_t position = 0;
    uint32_t block = kNoBlock;
  };
  struct StoredRun {
    uint64_t first = 0;
    std::vector<uint32_t> blocks;
  };

  uint64_t length = 0;
  StoredBase base;
  bool has_next_base = false;
  StoredBase next_base;
  uint64_t first_row_page = 0;
  std::vector<uint32_t> row_pages;
  std::vector<StoredRun> pages;  // per K/V group
};

// Sections that lie partly in blocks, partly in buffers of their own.
struct SnapshotSections {
  std::vector<stores::ObjectSection> sections;
  std::deque<std::vector<std::byte>> buffers;
};

// Tokens, and checkpoints of prefixes of them; blocks that checkpoints share stand once. What blocks hold
// beyond the positions in use is replaced by zeros. segments: leave out the pages of whole segments of groups
// without a window. The spans live as long as the arguments and the result.
SnapshotSections snapshot_sections(const MemoryLayout& layout, std::span<const TokenId> tokens,
                                   std::span<const Checkpoint* const> checkpoints, bool segments = false);

Status write_snapshot(const MemoryLayout& layout, std::span<const TokenId> tokens,
                      std::span<const Checkpoint* const> checkpoints, stores::ContainerWriter& writer);

// The pages of a segment, which ends at a multiple of 1024 <= checkpoint.length: one section for each page of
// each group without a window. Needs their pages.
SnapshotSections segment_sections(const MemoryLayout& layout, std::span<const TokenId> tokens,
                                  const Checkpoint& checkpoint, size_t end);
// Number of a segment's section: page `index` (0 to 15) of a group.
constexpr uint32_t segment_block(size_t group, size_t index) {
  return static_cast<uint32_t>(group * snapshot::kSegmentPages + index);
}

// The token ids; they are readable whatever wrote the rest. kInvalidInput when there are none.
Result<std::vector<TokenId>> read_tokens(const stores::ContainerReader& reader);

// The table of checkpoints, checked: they fit the layout and the tokens, and every block they name has its
// section and its size. segments: pages of whole segments may lie elsewhere (kInSegment).
Result<std::vector<StoredCheckpoint>> read_checkpoints(const MemoryLayout& layout, size_t token_count,
                                                       const stores::ContainerReader& reader,
                                                       bool segments = false);

}  // namespace oxbow::memory
