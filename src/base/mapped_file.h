#pragma once
// A file mapped read-only into memory.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace oxbow {

// Move-only. bytes() stays valid as long as the object lives; safe to read from any thread. A file that
// another process truncates while it is mapped raises SIGBUS on access, as with every mapped file.
class MappedFile {
 public:
  // Errors: kNotFound, kIo (with the operating system's reason), kInvalidInput for something that is no
  // regular file.
  static Result<MappedFile> open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Tells the system that [offset, offset + size) is not needed any more; its pages leave resident memory.
  void release(size_t offset, size_t size) const;

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace oxbow
