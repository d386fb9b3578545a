#include "model/weight_arena.h"

#include <algorithm>

#include "base/bytes.h"

namespace oxbow::model {
namespace {

// What is not used of a slab is never touched and costs address space only.
constexpr size_t kSlabBytes = size_t{32} << 20;

}  // namespace

WeightBytes WeightArena::allocate(size_t size_bytes) {
  size_bytes = align_up(size_bytes, 64);
  if (slab_ == nullptr || size_bytes > slab_->size() - used_) {
    AlignedBuffer buffer = AlignedBuffer::try_allocate(std::max(size_bytes, kSlabBytes));
    if (buffer.empty()) return nullptr;
    slab_ = std::make_shared<AlignedBuffer>(std::move(buffer));
    used_ = 0;
  }
  std::byte* bytes = slab_->data() + used_;
  used_ += size_bytes;
  return {slab_, bytes};
}

}  // namespace oxbow::model
