#include "store/disk_index.h"

#include <dirent.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"
#include "store/container.h"

namespace oxbow::stores {
namespace {

// Programs of several versions may share a directory: each sees its own files alone.
const std::string kEnding = fmt::format(".v{}.oxbow", kContainerVersion);
constexpr uint64_t kBlockBytes = 4096;

// Time stamps of some file systems are that coarse.
constexpr int64_t kGrainSeconds = 2;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

std::optional<Key> key_of_file(std::string_view name) {
  if (!name.ends_with(kEnding)) return std::nullopt;
  return parse_key(name.substr(0, name.size() - kEnding.size()));
}

}  // namespace

std::string DiskIndex::path_of(const Key& key) const {
  return directory_ + "/" + to_name(key) + kEnding;
}

void DiskIndex::refresh() {
  struct stat info {};
  const bool known = ::stat(directory_.c_str(), &info) == 0;
  if (known && settled_ && info.st_mtim.tv_sec == changed_.tv_sec && info.st_mtim.tv_nsec == changed_.tv_nsec)
    return;
  list(false);
}

void DiskIndex::rescan() {
  list(true);
}

void DiskIndex::list(bool look_at_all) {
  ++scan_;
  timespec now{};
  struct stat info {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  // Before the listing: what happens meanwhile makes the time differ at the next look.
  settled_ = ::stat(directory_.c_str(), &info) == 0 && now.tv_sec - info.st_mtim.tv_sec > kGrainSeconds;
  changed_ = info.st_mtim;
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(directory_.c_str()));
  while (const dirent* file = directory ? ::readdir(directory.get()) : nullptr) {
    const auto key = key_of_file(file->d_name);
    if (!key) continue;
    const auto at = entries_.find(*key);
    if (at == entries_.end() || look_at_all) {
      look_at(*key);
    } else {
      at->second.scan = scan_;
    }
  }
  for (auto at = entries_.begin(); at != entries_.end();) {
    if (at->second.scan == scan_) {
      ++at;
    } else {
      size_bytes_ -= at->second.size_bytes;
      at = entries_.erase(at);
    }
  }
}

std::vector<Key> DiskIndex::by_age() const {
  std::vector<std::pair<int64_t, Key>> aged;
  aged.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) aged.emplace_back(entry.used_ns, key);
  std::sort(aged.begin(), aged.end());
  std::vector<Key> keys;
  keys.reserve(aged.size());
  for (const auto& [used, key] : aged) keys.push_back(key);
  return keys;
}

void DiskIndex::look_at(const Key& key) {
  remove(key);
  struct stat info {};
  if (::lstat(path_of(key).c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  const Entry entry{.size_bytes = align_up(static_cast<uint64_t>(info.st_size), kBlockBytes),
                    .used_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec,
                    .scan = scan_};
  entries_.emplace(key, entry);
  size_bytes_ += entry.size_bytes;
}

void DiskIndex::remove(const Key& key) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return;
  size_bytes_ -= at->second.size_bytes;
  entries_.erase(at);
}

}  // namespace oxbow::stores
