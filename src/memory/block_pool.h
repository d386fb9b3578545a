#pragma once
// Counted blocks of bytes under one budget.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace oxbow::memory {

class BlockPool;
struct Block;
struct Slab;

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
  bool is_shared() const { return references() > 1; }
  uint32_t references() const;
  size_t size_bytes() const;
  std::byte* data() const;
  float* floats() const { return reinterpret_cast<float*>(data()); }
  bool operator==(const BlockRef& other) const { return block_ == other.block_; }

 private:
  friend class BlockPool;
  explicit BlockRef(Block* block) : block_(block) {}
  Block* block_ = nullptr;
};

// The ledger of the one budget. Invariant: used_bytes() <= budget_bytes().
//
// Blocks of one size share slabs of a few megabytes, large blocks have one of their own: the system's count
// of memory maps stays small, and sizes do not fragment each other. Some of what is freed stays resident for
// the next block of its size, because the system clears fresh memory; the rest goes back. Blocks in use and
// these together stay within the budget, too.
class BlockPool {
 public:
  // poison: blocks are filled with NaN when they are handed out and when they are freed, for tests.
  explicit BlockPool(size_t budget_bytes, bool poison = false);
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // An empty reference when the budget has no room for it or the system has no memory. 64-byte aligned.
  // Contents are not initialised.
  BlockRef allocate(size_t size_bytes);

  // Takes bytes for memory that others hold (scratch); false when they do not fit.
  bool reserve(size_t size_bytes);
  void release(size_t size_bytes) { used_bytes_ -= size_bytes; }

  static constexpr size_t kSlackBytes = 4096;  // a block takes less than this more than was asked for

  size_t budget_bytes() const { return budget_bytes_; }
  size_t used_bytes() const { return used_bytes_; }
  size_t free_bytes() const { return budget_bytes_ - used_bytes_; }

 private:
  friend class BlockRef;
  void free(Block& block);
  void release_warm(size_t limit_bytes);

  size_t budget_bytes_;
  size_t used_bytes_ = 0;
  size_t warm_bytes_ = 0;  // free but resident
  bool poison_;
  std::map<size_t, std::vector<std::unique_ptr<Slab>>> slabs_;  // by block size
};

}  // namespace oxbow::memory
