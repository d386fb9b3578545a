#pragma once
// Writing a file so that a reader sees the old one or the whole new one, and a failure leaves nothing behind.

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>

#include "base/file_lock.h"
#include "base/status.h"

namespace oxbow {

// Writes to a temporary name beside the target (TARGET.PID.NUMBER.tmp), which it keeps locked; commit() syncs
// the file, renames it and syncs the directory, under a lock of the directory. The destructor removes what
// was not committed; what a killed process left is removed by remove_orphans(). Errors (kIo) name the path
// and the operating system's reason, a full disk included.
class AtomicFile {
 public:
  // mode: as for open(2); 0600 for what is private to the user.
  static Result<AtomicFile> create(const std::string& path, mode_t mode = 0644);

  // Removes the temporaries in `directory` whose writers are gone: nobody holds the lock, and the process
  // does not exist or the file is older than a minute. Returns how many.
  static size_t remove_orphans(const std::string& directory);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);

  // Everything that can take long, so that little is left to do under a lock. commit() does it otherwise.
  Status sync();
  // Waits up to 5 s for the directory's lock.
  Status commit();
  // For a caller that holds the directory's lock.
  Status commit(const FileLock& directory);

 private:
  AtomicFile(int fd, std::string path, std::string temporary);

  int fd_;
  std::string path_;
  std::string temporary_;
  bool synced_ = false;
};

}  // namespace oxbow
