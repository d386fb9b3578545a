#pragma once
// The directory of a disk tier, and what a crash leaves in it.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "store/disk_store.h"

namespace oxbow::testing {

// A directory of its own, removed with the object.
class CrashingDisk {
 public:
  CrashingDisk() {
    static std::atomic<int> count{0};
    // A file system in memory, where there is one: what a sync costs is not what is tested.
    const std::filesystem::path shared_memory = "/dev/shm";
    const bool usable = ::access(shared_memory.c_str(), W_OK | X_OK) == 0;
    directory_ = (usable ? shared_memory : std::filesystem::temp_directory_path()) /
                 ("oxbow-crash-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    std::filesystem::remove_all(directory_);
  }
  ~CrashingDisk() { std::filesystem::remove_all(directory_); }
  CrashingDisk(const CrashingDisk&) = delete;
  CrashingDisk& operator=(const CrashingDisk&) = delete;

  std::string path() const { return directory_.string(); }

  std::unique_ptr<stores::BlobStore> open() const {
    auto store = stores::DiskStore::open({.directory = path()});
    if (!store) throw std::runtime_error(store.error().message);
    return std::move(*store);
  }

  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    if (!std::filesystem::exists(directory_)) return found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_))
      if (entry.is_regular_file()) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }

  // What a killed process leaves (the beginning of an object under a temporary name), and what a machine may
  // that loses power (objects that are cut short, or hold other bytes).
  void crash(unsigned how) const {
    const auto all = files();
    if (all.empty()) return;
    const auto& victim = all[how / 4 % all.size()];
    const auto size = std::filesystem::file_size(victim);
    // A number that no process has.
    const std::filesystem::path temporary = victim.string() + ".2147483646." + std::to_string(how) + ".tmp";
    std::filesystem::copy_file(victim, temporary, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(temporary, size / 2);
    if (how % 4 == 1) std::filesystem::resize_file(victim, size - 1 - how / 16 % (size / 2 + 1));
    if (how % 4 == 2) {
      std::fstream file(victim, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(how / 16 % size));
      file.put('\x5a');
    }
  }

 private:
  std::filesystem::path directory_;
};

}  // namespace oxbow::testing
