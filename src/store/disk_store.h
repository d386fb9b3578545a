#pragma once
// Objects as files in a directory (--cache-disk), shared by any number of processes.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/file_lock.h"
#include "base/status.h"
#include "store/blob_store.h"
#include "store/disk_index.h"

namespace oxbow::stores {

struct DiskOptions {
  std::string directory;
  // Of all files together, in whole blocks. An object that is being written counts before it is there.
  uint64_t limit_bytes = uint64_t{16} << 30;
  // Larger objects are not written, larger files not read.
  uint64_t largest_bytes = uint64_t{2} << 30;
  // How long nothing is written after a write failed.
  std::chrono::milliseconds retry_after = std::chrono::minutes(5);
  // For tests: called with the size of each write; an error stands for that of the file system.
  std::function<Status(size_t)> before_write;
};

// Invariants:
// 1. A file is an object's name or a temporary; under an object's name lies a whole container or nothing.
// 2. Renames and evictions happen under the lock of the directory.
// 3. The least recently used go first; a use sets the file's modification time.
// A full or failing disk means that nothing is written for a while, and one warning. A file that cannot be
// read, is damaged or holds another key is deleted. Files have mode 0600.
class DiskStore final : public BlobStore {
 public:
  // Makes the directory, removes what killed processes left and brings it within the limit. Errors: kIo when
  // the directory cannot be made or written.
  static Result<std::unique_ptr<DiskStore>> open(DiskOptions options);

  std::string_view name() const override { return "disk"; }
  Status put(const Key& key, const Object& object) override;
  using BlobStore::get;
  std::optional<StoredObject> get(const Key& key, uint64_t most_bytes) override;
  bool contains(const Key& key) override;
  std::vector<Key> find(const Query& query) override;
  void erase(const Key& key) override;
  Statistics statistics() const override;
  void interrupt() override { interrupted_ = true; }

 private:
  explicit DiskStore(DiskOptions options) : options_(std::move(options)), index_(options_.directory) {}

  uint64_t largest_object() const { return std::min(options_.limit_bytes, options_.largest_bytes); }
  Status write(const Key& key, const Object& object);
  Status write_some(AtomicFile& file, const Object& object, std::span<const std::byte> bytes);
  // Evicts until `bytes` more fit.
  void make_room(uint64_t bytes, const FileLock& directory);
  Result<StoredObject> read(const Key& key, int fd, const std::string& path, uint64_t most_bytes);
  void pause(const Error& error);

  DiskOptions options_;
  DiskIndex index_;
  Statistics counts_;
  std::optional<std::chrono::steady_clock::time_point> paused_until_;
  bool warned_ = false;
  std::atomic<bool> interrupted_{false};
};

}  // namespace oxbow::stores
