#pragma once
// Writing a file so that a reader sees the old one or the whole new one, and a failure leaves nothing behind.

#include <cstddef>
#include <span>
#include <string>

#include "base/status.h"

namespace oxbow {

// Writes to a temporary name beside the target; commit() syncs and renames, the destructor removes what was
// not committed. Errors (kIo) name the path and the operating system's reason, a full disk included.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);
  Status commit();

 private:
  AtomicFile(int fd, std::string path, std::string temporary);

  int fd_;
  std::string path_;
  std::string temporary_;
};

}  // namespace oxbow
