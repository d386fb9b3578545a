#include "memory/block_pool.h"

namespace oxbow::memory {

struct BlockRef::Block {
  BlockPool* pool;
  AlignedBuffer bytes;
  size_t references = 1;
};

BlockRef::~BlockRef() {
  if (block_ == nullptr || --block_->references > 0) return;
  block_->pool->release(block_->bytes.size());
  delete block_;
}

BlockRef BlockRef::share() const {
  if (block_ != nullptr) ++block_->references;
  return BlockRef(block_);
}

bool BlockRef::is_shared() const {
  return block_ != nullptr && block_->references > 1;
}

std::byte* BlockRef::data() const {
  return block_ == nullptr ? nullptr : block_->bytes.data();
}

BlockRef BlockPool::allocate(size_t size_bytes) {
  if (size_bytes == 0 || !reserve(size_bytes)) return {};
  AlignedBuffer bytes = AlignedBuffer::try_allocate(size_bytes);
  if (bytes.empty()) {
    release(size_bytes);
    return {};
  }
  return BlockRef(new BlockRef::Block{this, std::move(bytes)});
}

bool BlockPool::reserve(size_t size_bytes) {
  if (size_bytes > free_bytes()) return false;
  used_bytes_ += size_bytes;
  return true;
}

}  // namespace oxbow::memory
