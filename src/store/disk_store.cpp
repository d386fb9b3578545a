#include "store/disk_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/atomic_file.h"
#include "base/bytes.h"
#include "base/log.h"

namespace oxbow::stores {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kLockPatience{5};
constexpr uint64_t kBlockBytes = 4096;

// Between two looks at interrupt().
constexpr size_t kPieceBytes = size_t{4} << 20;

Status make_directory(const std::string& directory) {
  std::error_code error;
  if (std::filesystem::create_directories(directory, error)) {
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
  }
  if (error) return fail(ErrorKind::kIo, "{}: cannot be made: {}", directory, error.message());
  if (!std::filesystem::is_directory(directory, error)) {
    return fail(ErrorKind::kIo, "{}: is not a directory", directory);
  }
  if (::access(directory.c_str(), R_OK | W_OK | X_OK) != 0) {
    return fail(ErrorKind::kIo, "{}: cannot be used: {}", directory, std::strerror(errno));
  }
  return {};
}

// The process is short of something; the file may be in order.
bool is_passing(int reason) {
  return reason == EMFILE || reason == ENFILE || reason == ENOMEM || reason == EINTR || reason == EAGAIN;
}

// kNotFound for what says nothing about the file.
Status read_whole(int fd, std::span<std::byte> bytes, const std::string& path,
                  const std::atomic<bool>& interrupted) {
  while (!bytes.empty()) {
    if (interrupted) return fail(ErrorKind::kNotFound, "{}: interrupted", path);
    const ssize_t got = ::read(fd, bytes.data(), std::min(bytes.size(), kPieceBytes));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && is_passing(errno)) return fail(ErrorKind::kNotFound, "{}: {}", path, std::strerror(errno));
    if (got < 0) return fail(ErrorKind::kIo, "{}: cannot be read: {}", path, std::strerror(errno));
    if (got == 0) return fail(ErrorKind::kIo, "{}: ended while it was read", path);
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<DiskStore>> DiskStore::open(DiskOptions options) {
  OXBOW_TRY(make_directory(options.directory));
  std::unique_ptr<DiskStore> disk(new DiskStore(std::move(options)));
  const size_t orphans = AtomicFile::remove_orphans(disk->options_.directory);
  if (orphans > 0)
    log(LogLevel::kInfo, "store", "{}: removed {} unfinished files", disk->options_.directory, orphans);
  disk->index_.rescan();
  OXBOW_ASSIGN(const FileLock lock, FileLock::acquire(disk->options_.directory, kLockPatience));
  disk->make_room(0, lock);
  return disk;
}

Status DiskStore::put(const Key& key, const Object& object) {
  if (contains(key)) {
    ++counts_.known;
    ::utimensat(AT_FDCWD, index_.path_of(key).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    return {};
  }
  const uint64_t size = object.size_bytes();
  if (size > options_.limit_bytes) {
    ++counts_.failures;
    return fail(ErrorKind::kOutOfBudget, "an object of {} bytes in a disk cache of {}", size,
                options_.limit_bytes);
  }
  if (paused_until_ && steady_clock::now() < *paused_until_) {
    ++counts_.failures;
    return fail(ErrorKind::kIo, "{}: a write failed before", options_.directory);
  }
  paused_until_.reset();
  const Status written = write(key, object);
  if (!written) {
    ++counts_.failures;
    if (written.error().kind == ErrorKind::kIo) pause(written.error());
  }
  return written;
}

Status DiskStore::write(const Key& key, const Object& object) {
  {
    OXBOW_ASSIGN(const FileLock lock, FileLock::acquire(options_.directory, kLockPatience));
    make_room(object.size_bytes(), lock);
  }
  OXBOW_ASSIGN(AtomicFile file, AtomicFile::create(index_.path_of(key), 0600));
  uint64_t size = 0;
  OXBOW_TRY(write_object(key, object, [&](std::span<const std::byte> bytes) {
    size += bytes.size();
    return write_some(file, object, bytes);
  }));
  if (object.was_read) object.was_read();
  OXBOW_TRY(file.sync());
  OXBOW_ASSIGN(const FileLock lock, FileLock::acquire(options_.directory, kLockPatience));
  make_room(size, lock);
  OXBOW_TRY(file.commit(lock));
  index_.look_at(key);
  ++counts_.puts;
  counts_.put_bytes += size;
  return {};
}

Status DiskStore::write_some(AtomicFile& file, const Object& object, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (interrupted_) return fail(ErrorKind::kInvalidState, "{}: interrupted", options_.directory);
    OXBOW_TRY(check_wanted(object));
    const size_t size = std::min(bytes.size(), kPieceBytes);
    if (options_.before_write) OXBOW_TRY(options_.before_write(size));
    OXBOW_TRY(file.write(bytes.first(size)));
    bytes = bytes.subspan(size);
  }
  return {};
}

void DiskStore::make_room(uint64_t bytes, const FileLock&) {
  const uint64_t needed = std::min(align_up(bytes, kBlockBytes), options_.limit_bytes);
  index_.refresh();
  if (index_.size_bytes() <= options_.limit_bytes - needed) return;
  // Somewhat more than needed, so that not every object costs a look at every file.
  const uint64_t goal = std::min(options_.limit_bytes - needed, options_.limit_bytes / 16 * 15);
  index_.rescan();
  for (const Key& oldest : index_.by_age()) {
    if (index_.size_bytes() <= goal) return;
    if (::unlink(index_.path_of(oldest).c_str()) == 0) ++counts_.evicted;
    index_.remove(oldest);
  }
}

void DiskStore::pause(const Error& error) {
  paused_until_ = steady_clock::now() + options_.retry_after;
  if (std::exchange(warned_, true)) return;
  log(LogLevel::kWarning, "store", "the disk cache takes nothing for now: {}", error.message);
}

std::optional<StoredObject> DiskStore::get(const Key& key, uint64_t most_bytes) {
  const std::string path = index_.path_of(key);
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  const int reason = errno;
  if (fd < 0 && (reason == ENOENT || is_passing(reason))) {
    if (reason == ENOENT) index_.remove(key);
    ++counts_.misses;
    return std::nullopt;
  }
  Result<StoredObject> object =
      fd < 0 ? fail(ErrorKind::kIo, "{}: {}", path, std::strerror(reason)) : read(key, fd, path, most_bytes);
  if (object) ::futimens(fd, nullptr);
  if (fd >= 0) ::close(fd);
  if (object) {
    ++counts_.hits;
    counts_.got_bytes += object->size_bytes();
    return std::move(*object);
  }
  ++counts_.misses;
  if (object.error().kind == ErrorKind::kIo || object.error().kind == ErrorKind::kInvalidInput) {
    ++counts_.refused;
    log(LogLevel::kWarning, "store", "removed from the disk cache: {}", object.error().message);
    erase(key);
  }
  return std::nullopt;
}

Result<StoredObject> DiskStore::read(const Key& key, int fd, const std::string& path, uint64_t most_bytes) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
    return fail(ErrorKind::kIo, "{}: is no regular file", path);
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size == 0 || size > largest_object()) {
    return fail(ErrorKind::kInvalidInput, "{}: {} bytes, expected 1 to {}", path, size, largest_object());
  }
  if (size > most_bytes) return fail(ErrorKind::kOutOfBudget, "{}: {} bytes of {}", path, size, most_bytes);
  // Not mapped: a file that another process cuts short, or a bad sector, must be a miss and not a signal.
  AlignedBuffer bytes = AlignedBuffer::try_allocate(size);
  if (bytes.empty()) return fail(ErrorKind::kOutOfBudget, "{}: no memory for {} bytes", path, size);
  OXBOW_TRY(read_whole(fd, bytes.as<std::byte>(), path, interrupted_));
  return StoredObject::open(std::move(bytes), key, path);
}

bool DiskStore::contains(const Key& key) {
  const bool there = ::access(index_.path_of(key).c_str(), F_OK) == 0;
  if (!there) index_.remove(key);
  return there;
}

std::vector<Key> DiskStore::find(const Query& query) {
  index_.refresh();
  std::vector<Key> candidates;
  auto at = index_.entries().lower_bound(Key{.partition = query.partition});
  for (; at != index_.entries().end(); ++at) {
    const Key& key = at->first;
    if (key.partition != query.partition || key.position > query.length) break;
    candidates.push_back(key);
  }
  return matches(query, std::move(candidates));
}

void DiskStore::erase(const Key& key) {
  ::unlink(index_.path_of(key).c_str());
  index_.remove(key);
}

Statistics DiskStore::statistics() const {
  Statistics result = counts_;
  result.objects = index_.entries().size();
  result.size_bytes = index_.size_bytes();
  return result;
}

}  // namespace oxbow::stores
