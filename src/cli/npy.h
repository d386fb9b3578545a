#pragma once
// NumPy's file format, version 1.0: a float32 array whose rows come one after the other.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/atomic_file.h"
#include "base/status.h"

namespace oxbow::cli {

// Header of a little-endian float32 array [rows, cols] in C order: a multiple of 64 bytes.
std::string npy_header(size_t rows, size_t cols);

// A file that appears whole or not at all; what exists and is no regular file (a pipe, a device) is written
// in place.
class OutputFile {
 public:
  // kIo with the reason, also for a folder.
  static Result<OutputFile> create(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Status write(std::span<const std::byte> bytes);
  Status commit();

 private:
  explicit OutputFile(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::optional<AtomicFile> file_;
  int descriptor_ = -1;  // when written in place
};

}  // namespace oxbow::cli
