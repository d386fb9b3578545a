#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace oxbow {
namespace {

std::atomic<unsigned> counter{0};

// Makes the rename itself durable. Some file systems refuse to sync a directory; the file's own data is safe
// by then.
void sync_directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  const std::string temporary = fmt::format("{}.{}.{}.tmp", path, ::getpid(), counter++);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return fail(ErrorKind::kIo, "{}: cannot be written: {}", path, std::strerror(errno));
  return AtomicFile(fd, path, temporary);
}

AtomicFile::AtomicFile(int fd, std::string path, std::string temporary)
    : fd_(fd), path_(std::move(path)), temporary_(std::move(temporary)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  return *this;
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(ErrorKind::kIo, "{}: cannot be written: {}", path_, std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status AtomicFile::commit() {
  if (::fsync(fd_) != 0 && errno != EINVAL) {
    return fail(ErrorKind::kIo, "{}: cannot be written: {}", path_, std::strerror(errno));
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return fail(ErrorKind::kIo, "{}: cannot be replaced: {}", path_, std::strerror(errno));
  }
  ::close(std::exchange(fd_, -1));
  sync_directory_of(path_);
  return {};
}

}  // namespace oxbow
