#pragma once
// A store behind the memory: kept checkpoints go there, and prompts find them there again, after a restart or
// in another process.

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "memory/memory.h"
#include "store/store_thread.h"

namespace oxbow::engine {

using memory::TokenId;

// The engine's thread owns it; the store works on its own. The memory outlives it.
//
// What waits to be written shares blocks with memory. It gives way when memory needs the room (give_up), so
// that a slow store costs what it did not get to write, and no request.
class CacheTier {
 public:
  CacheTier(memory::Memory& memory, const stores::Fingerprint& fingerprint,
            std::unique_ptr<stores::BlobStore> store);
  // stop(), with ten seconds of patience.
  ~CacheTier();
  CacheTier(const CacheTier&) = delete;
  CacheTier& operator=(const CacheTier&) = delete;

  // Offers a checkpoint to the store; never waits. Dropped when the queue is full. The segments that the
  // checkpoint needs are offered with it.
  void offer(std::string_view partition, std::span<const TokenId> tokens,
             const memory::Checkpoint& checkpoint, stores::Urgency urgency = stores::Urgency::kNormal);
  // Lets go of what the store has written; whether there was any.
  bool collect() { return thread_.collect() > 0; }
  // Lets go of something that waits, if need be (required) of what is being written: then it may wait for a
  // piece of that write, a fifth of a second at most. False when nothing is held, or nothing let go of.
  bool give_up(bool required);

  // Takes no more offers, and writes those that wait for no longer than that; whether all were written.
  bool stop(std::chrono::milliseconds patience) { return thread_.stop(patience); }

  // For Recall.
  const stores::Fingerprint& fingerprint() const { return fingerprint_; }
  static bool is_checkpoint(const stores::Key& key);
  stores::Key segment_key(std::string_view partition, std::span<const TokenId> tokens) const;
  stores::Pending<std::vector<stores::Key>> find(std::string_view partition, std::span<const TokenId> prompt);
  stores::Pending<std::optional<stores::StoredObject>> fetch(const stores::Key& key, uint64_t most_bytes) {
    return thread_.fetch(key, most_bytes);
  }
  void erase(const stores::Key& key) { thread_.erase(key); }
  // The store does not have it: it may be offered again.
  void forget(const stores::Key& key) { offered_.erase(key); }

  std::string_view name() const { return name_; }
  stores::Statistics statistics() const { return thread_.statistics(); }
  stores::QueueStatistics queue_statistics() const { return thread_.queue_statistics(); }

 private:
  using Clock = std::chrono::steady_clock;
  stores::Partition partition_id(std::string_view partition) const;
  bool was_offered(const stores::Key& key);
  void offer_segments(const stores::Partition& id, std::span<const TokenId> tokens,
                      const memory::Checkpoint& checkpoint, stores::Urgency urgency);

  memory::Memory& memory_;
  stores::Fingerprint fingerprint_;
  std::string name_;
  bool has_segments_ = false;                         // there are K/V groups without a window
  std::map<stores::Key, Clock::time_point> offered_;  // and when
  stores::StoreThread thread_;
};

}  // namespace oxbow::engine
