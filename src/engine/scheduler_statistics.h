#pragma once
// What a scheduler has done, for metrics and for the list of slots.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/request.h"
#include "memory/memory.h"

namespace oxbow::engine {

// Counts of seconds in buckets; bucket i counts what is at most bounds()[i] and above the bound before, the
// last one what is above all bounds.
class Histogram {
 public:
  static constexpr std::array<double, 22> kBounds = {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,  .75,
                                                     1,    2.5,  5,   7.5, 10,  20,  40,  80, 160, 640, 2560};
  static std::span<const double> bounds() { return kBounds; }

  void add(double seconds);
  std::span<const uint64_t> buckets() const { return buckets_; }
  uint64_t count() const { return count_; }
  double sum_seconds() const { return sum_seconds_; }

 private:
  std::array<uint64_t, kBounds.size() + 1> buckets_{};
  uint64_t count_ = 0;
  double sum_seconds_ = 0;
};

enum class Phase { kQueued, kPrompt, kDecode };
inline constexpr size_t kPhases = 3;
inline constexpr size_t kFinishReasons = 7;
inline constexpr size_t kMissReasons = 7;

struct SlotState {
  size_t id = 0;
  bool is_processing = false;
  // Of the request that it runs; of the last one when it runs none.
  RequestId request = 0;
  size_t choice = 0;
  Phase phase = Phase::kQueued;
  size_t prompt_tokens = 0;
  size_t reused = 0;
  size_t prompt_done = 0;  // held, reused ones included
  size_t generated = 0;
};

// Since the start.
struct Totals {
  uint64_t submitted = 0;
  uint64_t refused_full = 0;
  uint64_t failed = 0;
  std::array<uint64_t, kFinishReasons> finished{};  // choices, by FinishReason
  std::array<uint64_t, kPhases> cancelled{};        // choices that were cancelled or timed out, by Phase
  uint64_t preemptions = 0;
  uint64_t prompt_tokens = 0;                          // of prompts that were started, reused ones included
  uint64_t cached_tokens = 0;                          // of those, reused
  std::array<uint64_t, kMissReasons> missed_tokens{};  // of those, not reused, by memory::Miss
  uint64_t evaluated_tokens = 0;                       // in all steps
  uint64_t generated_tokens = 0;
  uint64_t steps = 0;
  double step_seconds = 0;
  double prompt_seconds = 0;  // summed over requests
  double decode_seconds = 0;  // summed over choices
  Histogram queue_time;
  Histogram time_to_first_token;  // from submit
  Histogram between_tokens;
  Histogram request_time;  // from submit to the end
};

struct Statistics {
  size_t queued = 0;   // requests that wait for their first slot
  size_t running = 0;  // choices that hold a slot
  size_t waiting = 0;  // choices that were moved out or wait to be forked
  size_t queue_limit = 0;
  bool draining = false;
  std::vector<SlotState> slots;
  Totals totals;
  size_t budget_bytes = 0;
  size_t used_bytes = 0;
  memory::MemoryUse memory;  // by kind; may be a second old
};

}  // namespace oxbow::engine
