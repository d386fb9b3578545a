#pragma once
// Anonymous memory aligned for vector loads.

#include <cstddef>
#include <new>
#include <span>
#include <utility>

namespace oxbow {

// Move-only block of uninitialised bytes, 64-byte aligned; large blocks are page aligned, ask for huge pages
// and go back to the system when freed. size() is what was asked for.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Throws std::bad_alloc; use try_allocate where the size comes from outside.
  explicit AlignedBuffer(size_t size_bytes);
  // An empty buffer when the system has no such memory (size_bytes > 0).
  static AlignedBuffer try_allocate(size_t size_bytes);

  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~AlignedBuffer();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data_), size_ / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_), size_ / sizeof(T)};
  }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace oxbow
