#pragma once
// Counted blocks of bytes under one budget.

#include <cstddef>
#include <utility>

#include "base/aligned_buffer.h"

namespace oxbow::memory {

class BlockPool;

// A move-only reference to a counted block. share() makes a second one; the block goes back to the system
// with the last. One thread owns pool and references; the pool outlives them.
class BlockRef {
 public:
  BlockRef() = default;
  BlockRef(BlockRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BlockRef& operator=(BlockRef&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BlockRef();

  BlockRef share() const;
  explicit operator bool() const { return block_ != nullptr; }
  bool is_shared() const;  // more than one reference
  std::byte* data() const;
  float* floats() const { return reinterpret_cast<float*>(data()); }

 private:
  friend class BlockPool;
  struct Block;
  explicit BlockRef(Block* block) : block_(block) {}
  Block* block_ = nullptr;
};

// The ledger of the one budget. Invariant: used_bytes() <= budget_bytes().
class BlockPool {
 public:
  explicit BlockPool(size_t budget_bytes) : budget_bytes_(budget_bytes) {}
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // An empty reference when the budget has no room for it or the system has no memory. Contents are not
  // initialised.
  BlockRef allocate(size_t size_bytes);

  // Takes bytes for memory that others hold (scratch); false when they do not fit.
  bool reserve(size_t size_bytes);
  void release(size_t size_bytes) { used_bytes_ -= size_bytes; }

  size_t budget_bytes() const { return budget_bytes_; }
  size_t used_bytes() const { return used_bytes_; }
  size_t free_bytes() const { return budget_bytes_ - used_bytes_; }

 private:
  friend class BlockRef;
  size_t budget_bytes_;
  size_t used_bytes_ = 0;
};

}  // namespace oxbow::memory
