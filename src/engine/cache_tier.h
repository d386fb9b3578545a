#pragma once
// A store behind the memory: kept checkpoints go there, and prompts find them there again, after a restart or
// in another process.

#include <chrono>
#include <memory>
#include <set>
#include <span>
#include <string_view>

#include "memory/memory.h"
#include "store/store_thread.h"

namespace oxbow::engine {

using memory::TokenId;

// The engine's thread owns it; the store works on its own. The memory outlives it.
class CacheTier {
 public:
  CacheTier(memory::Memory& memory, const stores::Fingerprint& fingerprint,
            std::unique_ptr<stores::BlobStore> store);
  // Writes what waits, for ten seconds at most.
  ~CacheTier();
  CacheTier(const CacheTier&) = delete;
  CacheTier& operator=(const CacheTier&) = delete;

  // Offers a checkpoint to the store; never waits. Dropped when the queue is full.
  void offer(std::string_view partition, std::span<const TokenId> tokens,
             const memory::Checkpoint& checkpoint);

  // Looks for a checkpoint that serves more of the prompt than memory does, and admits it. Waits for the
  // store no longer than `patience`. The length of what was admitted; 0 for nothing.
  size_t recall(std::string_view partition, std::span<const TokenId> prompt,
                std::chrono::milliseconds patience);

  std::string_view name() const { return name_; }
  stores::Statistics statistics() const { return thread_.statistics(); }
  stores::QueueStatistics queue_statistics() const { return thread_.queue_statistics(); }

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  stores::Partition partition_id(std::string_view partition) const;
  bool was_offered(const stores::Key& key);
  void offer_segments(const stores::Partition& id, std::span<const TokenId> tokens,
                      const memory::Checkpoint& checkpoint);
  bool admit(const stores::Key& key, std::string_view partition, std::span<const TokenId> tokens,
             Deadline deadline);

  memory::Memory& memory_;
  stores::Fingerprint fingerprint_;
  std::string name_;
  bool has_segments_ = false;  // there are K/V groups without a window
  std::set<stores::Key> offered_;
  stores::StoreThread thread_;
};

}  // namespace oxbow::engine
