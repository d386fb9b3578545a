#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/bytes.h"
#include "memory/snapshot.h"

namespace oxbow::memory {
namespace {

class Bytes {
 public:
  template <class T>
  void put(T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(T));
  }
  std::span<const std::byte> get() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// What a block is, and the positions of it that are in use.
struct BlockUse {
  enum Role { kState, kRows, kPage } role = kState;
  size_t group = 0;
  const BlockRef* block = nullptr;
  size_t page = 0;
  size_t begin = 0;  // positions
  size_t end = 0;
};

class SnapshotWriter {
 public:
  SnapshotWriter(const MemoryLayout& layout, bool segments) : layout_(layout), segments_(segments) {}

  SnapshotSections make(std::span<const TokenId> tokens, std::span<const Checkpoint* const> checkpoints) {
    add({snapshot::kTokens, 0}, std::as_bytes(tokens));
    put_layout();
    table_.put(static_cast<uint32_t>(checkpoints.size()));
    for (const Checkpoint* checkpoint : checkpoints) put_checkpoint(*checkpoint);
    result_.buffers.emplace_back(table_.get().begin(), table_.get().end());
    add({snapshot::kCheckpoints, 0}, result_.buffers.back());
    for (size_t i = 0; i < uses_.size(); ++i) add_block(static_cast<uint32_t>(i), uses_[i]);
    return std::move(result_);
  }

 private:
  void add(stores::SectionId id, std::span<const std::byte> bytes) {
    result_.sections.push_back({id, {bytes}, stores::Compression::kNone});
  }

  void put_layout() {
    table_.put(static_cast<uint64_t>(layout_.state_bytes()));
    table_.put(static_cast<uint64_t>(layout_.row_bytes()));
    table_.put(static_cast<uint32_t>(layout_.groups().size()));
    for (const KvGroup& group : layout_.groups()) {
      table_.put(static_cast<uint64_t>(group.window_tokens));
      table_.put(static_cast<uint64_t>(group.page_bytes));
    }
  }

  uint32_t number(const BlockRef& block, const BlockUse& use) {
    if (!block) return StoredCheckpoint::kNoBlock;
    const auto [known, added] = numbers_.emplace(block.data(), static_cast<uint32_t>(uses_.size()));
    if (added) {
      uses_.push_back(use);
      uses_.back().block = &block;
    } else {
      BlockUse& before = uses_[known->second];
      before.begin = std::min(before.begin, use.begin);
      before.end = std::max(before.end, use.end);
    }
    return known->second;
  }

  void put_base(const Base& base) {
    table_.put(static_cast<uint64_t>(base.position));
    table_.put(number(base.block, {}));
  }

  void put_checkpoint(const Checkpoint& checkpoint) {
    table_.put(static_cast<uint64_t>(checkpoint.length));
    put_base(checkpoint.base);
    table_.put(static_cast<uint8_t>(checkpoint.next_base.has_value()));
    if (checkpoint.next_base) put_base(*checkpoint.next_base);
    table_.put(static_cast<uint64_t>(checkpoint.first_row_page));
    table_.put(static_cast<uint32_t>(checkpoint.row_pages.size()));
    for (size_t i = 0; i < checkpoint.row_pages.size(); ++i) {
      BlockUse use{BlockUse::kRows};
      use.page = checkpoint.first_row_page + i;
      use.begin = checkpoint.base.position;
      use.end = checkpoint.length;
      table_.put(number(checkpoint.row_pages[i], use));
    }
    for (size_t g = 0; g < checkpoint.pages.size(); ++g) {
      const PageRun& run = checkpoint.pages[g];
      table_.put(static_cast<uint64_t>(run.first));
      table_.put(static_cast<uint32_t>(run.blocks.size()));
      for (size_t i = 0; i < run.blocks.size(); ++i) {
        const size_t page = run.first + i;
        const bool in_segment = segments_ && layout_.groups()[g].window_tokens == 0 &&
                                page < checkpoint.length / snapshot::kSegmentTokens * snapshot::kSegmentPages;
        table_.put(in_segment
                       ? StoredCheckpoint::kInSegment
                       : number(run.blocks[i], {BlockUse::kPage, g, nullptr, page, 0, checkpoint.length}));
      }
    }
  }

  void add_block(uint32_t index, const BlockUse& use) {
    const stores::SectionId id{snapshot::kBlock, index};
    const std::span<const std::byte> block(use.block->data(), use.block->size_bytes());
    const size_t unit = use.role == BlockUse::kRows ? kRowPageTokens : kPagePositions;
    const bool whole = use.begin <= use.page * unit && use.end >= (use.page + 1) * unit;
    if (use.role == BlockUse::kState || whole) return add(id, block);
    std::vector<std::byte>& clean = result_.buffers.emplace_back(block.size());
    if (use.role == BlockUse::kRows) {
      copy_rows(use, clean);
    } else {
      copy_page(use, clean);
    }
    add(id, clean);
  }

  void copy_rows(const BlockUse& use, std::vector<std::byte>& clean) {
    const size_t start = use.page * kRowPageTokens;
    const size_t begin = std::max(use.begin, start);
    const size_t end = std::min(use.end, start + kRowPageTokens);
    if (begin >= end) return;
    const size_t offset = (begin - start) * layout_.row_bytes();
    std::memcpy(clean.data() + offset, use.block->data() + offset, (end - begin) * layout_.row_bytes());
  }

  // K lies as [head_dim_k, 64] and V as [64, head_dim_v] for each head.
  void copy_page(const BlockUse& use, std::vector<std::byte>& clean) {
    const size_t count = std::min(kPagePositions, use.end - use.page * kPagePositions);
    const std::byte* from = use.block->data();
    for (const KvPlace& place : layout_.kv()) {
      if (place.group != use.group) continue;
      const size_t heads = (place.v_offset - place.k_offset) / place.k_head_bytes;
      const size_t key_bytes = kernels::kv_type_bytes(layout_.types().key);
      const size_t dimension_bytes = kPagePositions * key_bytes;
      const size_t dimensions = heads * place.k_head_bytes / dimension_bytes;
      for (size_t d = 0; d < dimensions; ++d) {
        const size_t offset = place.k_offset + d * dimension_bytes;
        std::memcpy(clean.data() + offset, from + offset, count * key_bytes);
      }
      for (size_t head = 0; head < heads; ++head) {
        const size_t offset = place.v_offset + head * place.v_head_bytes;
        std::memcpy(clean.data() + offset, from + offset, count * (place.v_head_bytes / kPagePositions));
      }
    }
  }

  const MemoryLayout& layout_;
  bool segments_;
  Bytes table_;
  std::vector<BlockUse> uses_;  // by number
  std::unordered_map<const void*, uint32_t> numbers_;
  SnapshotSections result_;
};

}  // namespace

SnapshotSections snapshot_sections(const MemoryLayout& layout, std::span<const TokenId> tokens,
                                   std::span<const Checkpoint* const> checkpoints, bool segments) {
  return SnapshotWriter(layout, segments).make(tokens, checkpoints);
}

SnapshotSections segment_sections(const MemoryLayout& layout, std::span<const TokenId> tokens,
                                  const Checkpoint& checkpoint, size_t end) {
  const size_t first_page = end / kPagePositions - snapshot::kSegmentPages;
  SnapshotSections segment;
  segment.sections.push_back({{snapshot::kTokens, 0}, {std::as_bytes(tokens.first(end))}});
  for (size_t g = 0; g < layout.groups().size(); ++g) {
    if (layout.groups()[g].window_tokens > 0) continue;
    for (size_t i = 0; i < snapshot::kSegmentPages; ++i) {
      const BlockRef& block = checkpoint.pages[g].at(first_page + i);
      segment.sections.push_back({{snapshot::kBlock, segment_block(g, i)},
                                  {std::span<const std::byte>(block.data(), block.size_bytes())}});
    }
  }
  return segment;
}

Status write_snapshot(const MemoryLayout& layout, std::span<const TokenId> tokens,
                      std::span<const Checkpoint* const> checkpoints, stores::ContainerWriter& writer) {
  const SnapshotSections snapshot = snapshot_sections(layout, tokens, checkpoints);
  for (const stores::ObjectSection& section : snapshot.sections)
    OXBOW_TRY(writer.add(section.id, section.parts));
  return {};
}

}  // namespace oxbow::memory
