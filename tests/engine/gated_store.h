#pragma once
// A store in the memory of the test, whose calls wait at gates.

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

#include "store/blob_store.h"

namespace oxbow::testing {

// What several stores share, and the test steers. From any thread.
class Gates {
 public:
  void open_gets(bool open) { set(gets_, open); }
  void open_puts(bool open) { set(puts_, open); }
  size_t puts_begun() const { return puts_begun_; }
  size_t gets_done() const { return gets_done_; }

 private:
  friend class GatedStore;
  void set(bool& gate, bool open) {
    const std::lock_guard lock(mutex_);
    gate = open;
    changed_.notify_all();
  }
  // False when the wait was ended by `given_up`, which is asked every few milliseconds.
  template <class GivenUp>
  bool pass(const bool& gate, const GivenUp& given_up) {
    std::unique_lock lock(mutex_);
    while (!gate && !given_up()) changed_.wait_for(lock, std::chrono::milliseconds(2));
    return gate;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool gets_ = true;
  bool puts_ = true;
  std::atomic<size_t> puts_begun_{0};
  std::atomic<size_t> gets_done_{0};
  std::map<stores::Key, std::vector<std::byte>> objects_;  // with the mutex
};

class GatedStore final : public stores::BlobStore {
 public:
  explicit GatedStore(std::shared_ptr<Gates> gates) : gates_(std::move(gates)) {}

  std::string_view name() const override { return "gated"; }

  Status put(const stores::Key& key, const stores::Object& object) override {
    ++gates_->puts_begun_;
    const auto given_up = [&] { return interrupted_.load() || (object.is_unwanted && object.is_unwanted()); };
    if (!gates_->pass(gates_->puts_, given_up)) return fail(ErrorKind::kInvalidState, "given up");
    std::vector<std::byte> bytes;
    OXBOW_TRY(stores::write_object(key, object, [&](std::span<const std::byte> part) -> Status {
      bytes.insert(bytes.end(), part.begin(), part.end());
      return {};
    }));
    const std::lock_guard lock(gates_->mutex_);
    gates_->objects_[key] = std::move(bytes);
    ++counts_.puts;
    return {};
  }

  using BlobStore::get;
  std::optional<stores::StoredObject> get(const stores::Key& key, uint64_t most_bytes) override {
    if (!gates_->pass(gates_->gets_, [&] { return interrupted_.load(); })) return std::nullopt;
    const std::lock_guard lock(gates_->mutex_);
    const auto found = gates_->objects_.find(key);
    if (found == gates_->objects_.end() || found->second.size() > most_bytes) return std::nullopt;
    AlignedBuffer bytes(found->second.size());
    std::copy(found->second.begin(), found->second.end(), bytes.as<std::byte>().begin());
    auto object = stores::StoredObject::open(std::move(bytes), key, "gated");
    if (!object) return std::nullopt;
    ++counts_.hits;
    ++gates_->gets_done_;
    return std::move(*object);
  }

  bool contains(const stores::Key& key) override {
    const std::lock_guard lock(gates_->mutex_);
    return gates_->objects_.contains(key);
  }

  std::vector<stores::Key> find(const stores::Query& query) override {
    if (!gates_->pass(gates_->gets_, [&] { return interrupted_.load(); })) return {};
    std::vector<stores::Key> keys;
    const std::lock_guard lock(gates_->mutex_);
    for (const auto& [key, bytes] : gates_->objects_) keys.push_back(key);
    return stores::matches(query, std::move(keys));
  }

  void erase(const stores::Key& key) override {
    const std::lock_guard lock(gates_->mutex_);
    gates_->objects_.erase(key);
  }

  stores::Statistics statistics() const override { return counts_; }
  void interrupt() override { interrupted_ = true; }

 private:
  std::shared_ptr<Gates> gates_;
  std::atomic<bool> interrupted_{false};
  stores::Statistics counts_;
};

}  // namespace oxbow::testing
