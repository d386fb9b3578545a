#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#include "base/bytes.h"

namespace oxbow {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kSystemPage = 4096;

bool is_mapped(size_t size_bytes) {
  return size_bytes >= kHugePage;
}

// Only huge pages that lie whole inside a mapping can back it, so it begins at one. Null without memory.
void* map_aligned(size_t size_bytes) {
  const size_t mapped = size_bytes + kHugePage;
  if (mapped < size_bytes) return nullptr;
  void* data = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t aligned = align_up(begin, kHugePage);
  const uintptr_t end = align_up(aligned + size_bytes, kSystemPage);
  if (aligned > begin) ::munmap(data, aligned - begin);
  if (begin + mapped > end) ::munmap(reinterpret_cast<void*>(end), begin + mapped - end);
  return reinterpret_cast<void*>(aligned);
}

}  // namespace

AlignedBuffer AlignedBuffer::try_allocate(size_t size_bytes) {
  AlignedBuffer buffer;
  if (size_bytes == 0) return buffer;
  void* data = nullptr;
  if (is_mapped(size_bytes)) {
    data = map_aligned(size_bytes);
    if (data == nullptr) return buffer;
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
