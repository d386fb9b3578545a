#include "base/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

namespace oxbow {
namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr int kAttempts = 16;
constexpr std::time_t kOrphanSeconds = 60;

std::atomic<unsigned> counter{0};

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Makes the rename itself durable. Some file systems refuse to sync a directory; the file's own data is safe
// by then.
void sync_directory(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

// Takes the last field off "NAME.FIELD" when it is a number.
std::optional<unsigned long> take_number(std::string_view& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  unsigned long value = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + dot + 1, end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  name = name.substr(0, dot);
  return value;
}

// The process in a name that create() made; none for other names.
std::optional<pid_t> writer_of(std::string_view name) {
  constexpr std::string_view kEnding = ".tmp";
  if (!name.ends_with(kEnding)) return std::nullopt;
  name.remove_suffix(kEnding.size());
  if (!take_number(name)) return std::nullopt;
  const auto pid = take_number(name);
  if (!pid || *pid == 0 || *pid > 0x7fffffff) return std::nullopt;
  return static_cast<pid_t>(*pid);
}

// A writer that has created its file but not locked it yet is protected by its process and the file's age;
// one in another process namespace by its lock or the age.
bool is_orphan(const std::string& path, pid_t writer) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat info {};
  const bool gone = ::kill(writer, 0) != 0 && errno == ESRCH;
  const bool orphan = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && FileLock::try_lock(fd) &&
                      (gone || info.st_mtime + kOrphanSeconds < std::time(nullptr));
  ::close(fd);
  return orphan;
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const std::string& path, mode_t mode) {
  std::string temporary;
  int fd = -1;
  // An orphan of an earlier process of the same number may have the name.
  for (int attempt = 0; fd < 0 && attempt < kAttempts; ++attempt) {
    temporary = fmt::format("{}.{}.{}.tmp", path, ::getpid(), counter++);
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0 && errno != EEXIST) break;
  }
  if (fd < 0) return fail(ErrorKind::kIo, "{}: cannot be written: {}", path, std::strerror(errno));
  FileLock::try_lock(fd);
  return AtomicFile(fd, path, std::move(temporary));
}

size_t AtomicFile::remove_orphans(const std::string& directory) {
  size_t removed = 0;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const auto writer = writer_of(name);
    const std::string path = directory + "/" + name;
    if (writer && is_orphan(path, *writer) && ::unlink(path.c_str()) == 0) ++removed;
  }
  return removed;
}

AtomicFile::AtomicFile(int fd, std::string path, std::string temporary)
    : fd_(fd), path_(std::move(path)), temporary_(std::move(temporary)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      synced_(other.synced_) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(synced_, other.synced_);
  return *this;
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::unlink(temporary_.c_str());
  ::close(fd_);
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  synced_ = false;
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(ErrorKind::kIo, "{}: cannot be written: {}", path_, std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status AtomicFile::sync() {
  if (::fsync(fd_) != 0 && errno != EINVAL) {
    return fail(ErrorKind::kIo, "{}: cannot be written: {}", path_, std::strerror(errno));
  }
  synced_ = true;
  return {};
}

Status AtomicFile::commit() {
  OXBOW_TRY(sync());
  OXBOW_ASSIGN(const FileLock lock, FileLock::acquire(directory_of(path_), kPatience));
  return commit(lock);
}

Status AtomicFile::commit(const FileLock&) {
  if (!synced_) OXBOW_TRY(sync());
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return fail(ErrorKind::kIo, "{}: cannot be replaced: {}", path_, std::strerror(errno));
  }
  ::close(std::exchange(fd_, -1));
  sync_directory(directory_of(path_));
  return {};
}

}  // namespace oxbow
