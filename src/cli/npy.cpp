#include "cli/npy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/bytes.h"

namespace oxbow::cli {

std::string npy_header(size_t rows, size_t cols) {
  constexpr size_t kPrefixBytes = 10;  // magic, version, length
  std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, cols);
  const size_t total = align_up(kPrefixBytes + text.size() + 1, 64);
  text.append(total - kPrefixBytes - text.size() - 1, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xFF);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  OutputFile out(path);
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    return fail(ErrorKind::kIo, "{} is a folder, expected a file to write", path);
  if (exists && !S_ISREG(status.st_mode)) {
    out.descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (out.descriptor_ < 0)
      return fail(ErrorKind::kIo, "{} cannot be written: {}", path, std::strerror(errno));
    return out;
  }
  OXBOW_ASSIGN(out.file_, AtomicFile::create(path));
  return out;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::move(other.file_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  if (file_) return file_->write(bytes);
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(ErrorKind::kIo, "{} cannot be written: {}", path_, std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status OutputFile::commit() {
  if (file_) return file_->commit();
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    return fail(ErrorKind::kIo, "{} cannot be written: {}", path_, std::strerror(errno));
  }
  return {};
}

}  // namespace oxbow::cli
