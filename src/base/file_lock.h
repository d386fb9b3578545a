#pragma once
// An advisory lock between processes.

#include <chrono>
#include <string>
#include <utility>

#include "base/status.h"

namespace oxbow {

// Holds an exclusive flock on a file or directory that exists until destroyed; another open of the same path,
// in this process too, has to wait. Where the path cannot be opened or its file system has no locks the
// object holds nothing: callers must stay correct without, for one process. Move-only.
class FileLock {
 public:
  // kInvalidState when someone else held it for all of `patience`.
  static Result<FileLock> acquire(const std::string& path, std::chrono::milliseconds patience);

  // The lock of a file that is open already; nothing is waited for, and the file stays the caller's.
  static bool try_lock(int fd);

  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace oxbow
