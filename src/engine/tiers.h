#pragma once
// All stores behind one memory.

#include <chrono>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/cache_tier.h"
#include "engine/recall.h"
#include "memory/memory.h"

namespace oxbow::engine {

// Sits between a memory and its stores: checkpoints that are kept or used are offered to every store, and
// what waits to be written or is on its way back gives way when sequences need the room. On the engine's
// thread. The memory outlives it; recalls do not.
class Tiers {
 public:
  Tiers(memory::Memory& memory, const stores::Fingerprint& fingerprint);
  ~Tiers();
  Tiers(const Tiers&) = delete;
  Tiers& operator=(const Tiers&) = delete;

  // Asked in the order in which they were added.
  void add(std::unique_ptr<stores::BlobStore> store);
  std::span<const std::unique_ptr<CacheTier>> all() const { return tiers_; }

  // Starts to bring the best checkpoint that the stores have for a prompt to memory, waiting for nothing;
  // null without stores. Each store has `patience`.
  std::unique_ptr<Recall> start_recall(std::span<const TokenId> prompt, std::string_view partition,
                                       std::chrono::milliseconds patience);
  // The same, waiting for the end; the length of what was admitted.
  size_t recall(std::span<const TokenId> prompt, std::string_view partition,
                std::chrono::milliseconds patience);

  // Lets go of what was written.
  void collect();

 private:
  bool reclaim(bool required);

  memory::Memory& memory_;
  stores::Fingerprint fingerprint_;
  std::vector<std::unique_ptr<CacheTier>> tiers_;
  std::vector<Recall*> recalls_;  // that are not over
};

}  // namespace oxbow::engine
