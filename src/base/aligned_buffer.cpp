#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>

#include "base/bytes.h"

namespace oxbow {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

bool is_mapped(size_t size_bytes) {
  return size_bytes >= kHugePage;
}

}  // namespace

AlignedBuffer AlignedBuffer::try_allocate(size_t size_bytes) {
  AlignedBuffer buffer;
  if (size_bytes == 0) return buffer;
  void* data = nullptr;
  if (is_mapped(size_bytes)) {
    data = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return buffer;
    ::madvise(data, size_bytes, MADV_HUGEPAGE);
  } else {
    data = std::aligned_alloc(64, align_up(size_bytes, 64));
    if (data == nullptr) return buffer;
  }
  buffer.data_ = static_cast<std::byte*>(data);
  buffer.size_ = size_bytes;
  return buffer;
}

AlignedBuffer::AlignedBuffer(size_t size_bytes) {
  *this = try_allocate(size_bytes);
  if (size_bytes > 0 && empty()) throw std::bad_alloc();
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ == nullptr) return;
  if (is_mapped(size_)) {
    ::munmap(data_, size_);
  } else {
    std::free(data_);
  }
}

}  // namespace oxbow
