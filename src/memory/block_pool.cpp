#include "memory/block_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"

namespace oxbow::memory {
namespace {

constexpr size_t kSlabBytes = size_t{4} << 20;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kSystemPage = 4096;
constexpr size_t kMostWarmBytes = size_t{128} << 20;

// What a block takes of the system's memory.
size_t stride_of(size_t block_bytes) {
  return align_up(block_bytes, block_bytes >= kSystemPage ? kSystemPage : 64);
}

}  // namespace

struct Block {
  Slab* slab = nullptr;
  uint32_t references = 0;
  bool warm = false;  // free, but resident
};

struct Slab {
  BlockPool* pool = nullptr;
  size_t block_bytes = 0;  // as asked for
  size_t stride = 0;
  std::byte* data = nullptr;
  size_t mapped_bytes = 0;
  std::vector<Block> blocks;
  std::vector<uint32_t> free;  // indices, the next one to use last; cold ones stand before warm ones
  size_t warm_blocks = 0;
  bool full() const { return free.empty(); }
  bool empty() const { return free.size() == blocks.size(); }
  std::byte* at(const Block& block) const {
    return data + (&block - blocks.data()) * static_cast<ptrdiff_t>(stride);
  }

  Slab() = default;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  ~Slab() {
    if (data != nullptr) ::munmap(data, mapped_bytes);
  }
};

namespace {

std::unique_ptr<Slab> make_slab(BlockPool* pool, size_t block_bytes) {
  auto slab = std::make_unique<Slab>();
  slab->pool = pool;
  slab->block_bytes = block_bytes;
  slab->stride = stride_of(block_bytes);
  const size_t count = std::max<size_t>(1, kSlabBytes / slab->stride);
  slab->mapped_bytes = align_up(count * slab->stride, kSystemPage);
  void* data =
      ::mmap(nullptr, slab->mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  slab->data = static_cast<std::byte*>(data);
  if (block_bytes >= kHugePage) ::madvise(data, slab->mapped_bytes, MADV_HUGEPAGE);
  slab->blocks.resize(count);
  for (size_t i = 0; i < count; ++i) {
    slab->blocks[i].slab = slab.get();
    slab->free.push_back(static_cast<uint32_t>(count - 1 - i));
  }
  return slab;
}

}  // namespace

BlockRef::~BlockRef() {
  if (block_ == nullptr || --block_->references > 0) return;
  block_->slab->pool->free(*block_);
}

BlockRef BlockRef::share() const {
  if (block_ != nullptr) ++block_->references;
  return BlockRef(block_);
}

uint32_t BlockRef::references() const {
  return block_ == nullptr ? 0 : block_->references;
}

size_t BlockRef::size_bytes() const {
  return block_ == nullptr ? 0 : block_->slab->block_bytes;
}

std::byte* BlockRef::data() const {
  return block_ == nullptr ? nullptr : block_->slab->at(*block_);
}

BlockPool::BlockPool(size_t budget_bytes, bool poison) : budget_bytes_(budget_bytes), poison_(poison) {}

BlockPool::~BlockPool() {
  release_warm(0);
  OXBOW_CHECK(slabs_.empty());
}

BlockRef BlockPool::allocate(size_t size_bytes) {
  if (size_bytes == 0 || !reserve(stride_of(size_bytes))) return {};
  auto& slabs = slabs_[size_bytes];
  auto slab = std::ranges::find_if(slabs, [](const auto& candidate) { return candidate->warm_blocks > 0; });
  if (slab == slabs.end())
    slab = std::ranges::find_if(slabs, [](const auto& candidate) { return !candidate->full(); });
  if (slab == slabs.end()) {
    std::unique_ptr<Slab> made = make_slab(this, size_bytes);
    if (made == nullptr) {
      if (slabs.empty()) slabs_.erase(size_bytes);
      release(stride_of(size_bytes));
      return {};
    }
    slab = slabs.insert(slabs.end(), std::move(made));
  }
  Slab& from = **slab;
  Block& block = from.blocks[from.free.back()];
  from.free.pop_back();
  block.references = 1;
  if (block.warm) {
    block.warm = false;
    --from.warm_blocks;
    warm_bytes_ -= from.stride;
  }
  release_warm(std::min({kMostWarmBytes, budget_bytes_ / 20, free_bytes()}));
  if (poison_) std::memset(from.at(block), 0xff, size_bytes);
  return BlockRef(&block);
}

void BlockPool::free(Block& block) {
  Slab& slab = *block.slab;
  release(slab.stride);
  if (poison_) std::memset(slab.at(block), 0xff, slab.block_bytes);
  slab.free.push_back(static_cast<uint32_t>(&block - slab.blocks.data()));
  block.warm = true;
  ++slab.warm_blocks;
  warm_bytes_ += slab.stride;
  release_warm(std::min({kMostWarmBytes, budget_bytes_ / 20, free_bytes()}));
}

// Gives warm blocks back to the system until no more than limit_bytes of them are left.
void BlockPool::release_warm(size_t limit_bytes) {
  for (auto size = slabs_.begin(); size != slabs_.end() && warm_bytes_ > limit_bytes;) {
    auto& slabs = size->second;
    for (const auto& slab : slabs) {
      for (size_t i = 0; slab->warm_blocks > 0 && warm_bytes_ > limit_bytes; ++i) {
        Block& block = slab->blocks[slab->free[i]];
        if (!block.warm) continue;
        block.warm = false;
        --slab->warm_blocks;
        warm_bytes_ -= slab->stride;
        if (slab->stride >= kSystemPage) ::madvise(slab->at(block), slab->stride, MADV_DONTNEED);
      }
    }
    std::erase_if(slabs, [](const auto& slab) { return slab->empty() && slab->warm_blocks == 0; });
    size = slabs.empty() ? slabs_.erase(size) : std::next(size);
  }
}

bool BlockPool::reserve(size_t size_bytes) {
  if (size_bytes > free_bytes()) return false;
  used_bytes_ += size_bytes;
  return true;
}

}  // namespace oxbow::memory
