#pragma once
// A search of the stores for a prompt, which never holds up the engine's thread.

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/cache_tier.h"
#include "memory/admission.h"

namespace oxbow::engine {

// Made by Tiers (Engine::start_recall), which outlives it. All calls on the engine's thread, none during a
// step. While it lasts the engine may run steps and other recalls. A scheduler starts one when a request
// arrives, polls it between steps, and opens the sequence when it is over:
//
//     auto recall = engine.start_recall(prompt, partition);
//     ... if (recall == nullptr || recall->poll()) memory.open(prompt, ...)
//
// Stores are asked one after the other, in the order in which they were added, each for a checkpoint that
// serves at least 16 tokens more than what memory has by then. Objects on their way count against the budget.
// When running sequences need the room of a recall, it gives up; what is not found is evaluated.
class Recall {
 public:
  ~Recall();
  Recall(const Recall&) = delete;
  Recall& operator=(const Recall&) = delete;

  // Goes on as far as that is possible without waiting. True when it is over: what was found is in memory.
  bool poll();
  // Waits until poll() has something to do, no longer than `patience`. For a caller that has nothing else to
  // do.
  void wait_for(std::chrono::milliseconds patience) const;
  // Ends it; whether it held memory.
  bool give_up();

  bool holds_memory() const { return admission_.has_value(); }
  bool over() const { return stage_ == Stage::kOver; }
  // The length of the longest checkpoint that it brought to memory; 0: none.
  size_t admitted() const { return admitted_; }

 private:
  friend class Tiers;
  using Clock = std::chrono::steady_clock;
  using Found = stores::Pending<std::vector<stores::Key>>;
  using Fetched = stores::Pending<std::optional<stores::StoredObject>>;
  enum class Stage { kAsk, kFinding, kChoose, kFetching, kOver };
  struct OnItsWay {
    stores::Key key;
    uint64_t size_bytes = 0;  // as counted against the budget
    Fetched object;
  };

  // registry: where a recall that is not over stands.
  Recall(memory::Memory& memory, std::span<const std::unique_ptr<CacheTier>> tiers,
         std::vector<Recall*>& registry, std::span<const TokenId> prompt, std::string_view partition,
         std::chrono::milliseconds patience);
  bool advance();
  bool ask();
  bool take_found();
  bool choose();
  bool take_fetched();
  bool fetch(const stores::Key& key, uint64_t size_bytes);
  bool fetch_segments();
  Status add(const stores::StoredObject& object);
  bool is_worth_recalling(size_t position) const;
  void next_tier();
  CacheTier& tier() const { return *tiers_[tier_]; }

  memory::Memory& memory_;
  std::span<const std::unique_ptr<CacheTier>> tiers_;
  std::vector<Recall*>& registry_;
  std::vector<TokenId> prompt_;
  std::string partition_;
  std::chrono::milliseconds patience_;

  Stage stage_ = Stage::kAsk;
  size_t tier_ = 0;
  Clock::time_point deadline_{};
  std::optional<Found> found_;
  std::deque<stores::Key> candidates_;  // longest first
  size_t attempts_ = 0;                 // with this store
  std::optional<memory::Admission> admission_;
  bool has_checkpoint_ = false;  // of the admission
  size_t requested_ = 0;         // segments of admission_->wanted() that are on their way
  std::deque<OnItsWay> on_its_way_;
  size_t admitted_ = 0;
};

}  // namespace oxbow::engine
