#pragma once
// Room for packed weights: slabs of huge pages that tensors share, so that loading a model takes hundreds of
// page faults and not ten thousands.

#include <cstddef>
#include <memory>

#include "base/aligned_buffer.h"

namespace oxbow::model {

// The bytes of one matrix; keeps the slab they lie in.
using WeightBytes = std::shared_ptr<std::byte>;

class WeightArena {
 public:
  // 64-byte aligned, zero. Null when the system has no such memory (size_bytes > 0).
  WeightBytes allocate(size_t size_bytes);

 private:
  std::shared_ptr<AlignedBuffer> slab_;
  size_t used_ = 0;
};

}  // namespace oxbow::model
