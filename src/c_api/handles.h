#pragma once
// What the opaque pointers of the C interface stand for.
//
// A handle is a number that looks like a pointer and is never given out twice, so a freed one, or one of
// another type, is told apart from a live one without reading memory that may be gone.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "c_api/guard.h"

namespace oxbow::c_api {

// Unique among the handles of all types.
uintptr_t next_handle();

// Thread safe. Object: what a handle stands for; Handle: the opaque type of the header.
template <typename Object, typename Handle>
class Handles {
 public:
  explicit Handles(const char* what) : what_(what) {}

  Handle* add(std::shared_ptr<Object> object) {
    const uintptr_t number = next_handle();
    const std::lock_guard lock(mutex_);
    objects_.emplace(number, std::move(object));
    return reinterpret_cast<Handle*>(number);
  }

  // The object lives as long as what is returned, even when another thread frees the handle.
  Result<std::shared_ptr<Object>> find(const Handle* handle) const {
    if (handle == nullptr) return fail(ErrorKind::kInvalidInput, "the {} is null", what_);
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    if (found == objects_.end()) return unknown();
    return found->second;
  }

  Outcome remove(const Handle* handle) {
    if (handle == nullptr) return {};
    std::shared_ptr<Object> last;  // destroyed after the lock is released: threads are joined, much is freed
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    if (found == objects_.end()) return unknown();
    last = std::move(found->second);
    objects_.erase(found);
    return {};
  }

  size_t size() const {
    const std::lock_guard lock(mutex_);
    return objects_.size();
  }

 private:
  tl::unexpected<Error> unknown() const {
    return fail(ErrorKind::kNotFound, "there is no such {}: it was freed, or never made", what_);
  }

  const char* what_;
  mutable std::mutex mutex_;
  std::unordered_map<uintptr_t, std::shared_ptr<Object>> objects_;
};

// Handles of all types that were made and not freed, for tests.
size_t live_handles();

}  // namespace oxbow::c_api
