#pragma once
// Which objects lie in a directory: the names of the files are the index.

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "store/key.h"

namespace oxbow::stores {

// A picture of the directory that other processes change too. Files of other names, and what is no regular
// file, are not seen. One thread at a time.
class DiskIndex {
 public:
  struct Entry {
    uint64_t size_bytes = 0;  // taken on the disk, in whole blocks
    int64_t used_ns = 0;      // modification time, which stands for the last use
    uint64_t scan = 0;
  };

  explicit DiskIndex(std::string directory) : directory_(std::move(directory)) {}

  const std::string& directory() const { return directory_; }
  std::string path_of(const Key& key) const;

  // Lists the directory again unless it certainly did not change since the last time.
  void refresh();
  // Lists it and looks at every file.
  void rescan();

  const std::map<Key, Entry>& entries() const { return entries_; }
  uint64_t size_bytes() const { return size_bytes_; }

  // Keys by last use, oldest first, as of the last rescan().
  std::vector<Key> by_age() const;

  // What this process has just done to the file of the key.
  void look_at(const Key& key);
  void remove(const Key& key);

 private:
  void list(bool look_at_all);

  std::string directory_;
  std::map<Key, Entry> entries_;
  uint64_t size_bytes_ = 0;
  uint64_t scan_ = 0;
  timespec changed_{};    // the directory's modification time at the last listing
  bool settled_ = false;  // that was long enough ago that a later change must show in it
};

}  // namespace oxbow::stores
