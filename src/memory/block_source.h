#pragma once
// Checkpoints of a container as blocks of the budget.

#include <functional>
#include <unordered_map>

#include "base/status.h"
#include "memory/block_pool.h"
#include "memory/checkpoint.h"
#include "memory/layout.h"
#include "memory/snapshot.h"
#include "store/container_reader.h"

namespace oxbow::memory {

// Blocks of one container, read when a checkpoint first needs them. What it is made with outlives it.
class BlockSource {
 public:
  using Allocate = std::function<Result<BlockRef>(size_t size_bytes)>;

  BlockSource(const stores::ContainerReader& reader, Allocate allocate)
      : reader_(reader), allocate_(std::move(allocate)) {}

  // An empty reference for kNoBlock and kInSegment. kInvalidInput when there is no such block of this size.
  Result<BlockRef> get(uint32_t number, size_t size_bytes);

 private:
  const stores::ContainerReader& reader_;
  Allocate allocate_;
  std::unordered_map<uint32_t, BlockRef> blocks_;
};

// Pages that lie in segments are left empty.
Result<Checkpoint> load_checkpoint(const MemoryLayout& layout, const StoredCheckpoint& stored,
                                   BlockSource& blocks);

}  // namespace oxbow::memory
