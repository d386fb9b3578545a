#pragma once
// Working buffers of a forward pass, carved from one block that is sized once.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "kernels/kernels.h"

namespace oxbow::model {

// Hands out 64-byte aligned pieces of a block in order. Without a block it only counts, so that the same
// carving code says how many bytes it needs.
class Carver {
 public:
  Carver() = default;
  explicit Carver(std::byte* block) : block_(block) {}

  template <typename T>
  T* take(size_t count) {
    std::byte* piece = block_ == nullptr ? nullptr : block_ + used_;
    used_ += align_up(count * sizeof(T), 64);
    return reinterpret_cast<T*>(piece);
  }
  float* floats(size_t count) { return take<float>(count); }
  // Room for `rows` quantised rows of `cols` values.
  kernels::QuantizedRows quantized(size_t rows, size_t cols) {
    kernels::QuantizedRows out;
    // An odd number of cache lines from row to row keeps rows apart in the cache's sets.
    out.code_stride = align_up(cols, 128) + 64;
    out.block_stride = ceil_div(cols, kernels::kActivationBlock);
    out.codes = take<int8_t>(rows * out.code_stride);
    out.scales = floats(rows * out.block_stride);
    out.sums = take<int32_t>(2 * rows * out.block_stride);
    return out;
  }

  size_t used_bytes() const { return used_; }
  std::byte* rest() const { return block_ == nullptr ? nullptr : block_ + used_; }

 private:
  std::byte* block_ = nullptr;
  size_t used_ = 0;
};

}  // namespace oxbow::model
