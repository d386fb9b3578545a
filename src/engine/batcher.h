#pragma once
// What a scheduler does on its thread: which sequences run, what each step evaluates, what becomes of the
// logits.

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/footprint.h"
#include "engine/job.h"
#include "engine/logprobs.h"
#include "engine/prompt_slices.h"
#include "engine/request.h"
#include "engine/scheduler_statistics.h"

namespace oxbow::engine {

struct BatcherOptions {
  size_t parallel = 8;
  size_t context_tokens = 0;
  double slice_seconds = 0.1;
};

// Not thread safe: the engine's thread owns it; the engine outlives it.
//
// Requests are served in the order of their arrival: the first that waits is the next to run, and when memory
// runs out, the one that came last is moved out and waits again. So the oldest always goes on, and nobody
// starves. What a sequence computes does not depend on any of this.
class Batcher {
 public:
  Batcher(Engine& engine, const BatcherOptions& options);
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // Takes a request that passed `Scheduler::submit`; ids ascend.
  void add(RequestId id, Request request, std::shared_ptr<Sink> sink, Clock::time_point submitted);
  // Evaluates tokens like a prompt, then hands over the sequence that holds them; the slot's record of its
  // conversation stays as it is.
  void add_internal(RequestId id, Request request, std::shared_ptr<Sink> sink,
                    std::function<void(SequenceId)> at_prompt_end);
  void cancel(RequestId id, FinishReason reason);
  void cancel_all(FinishReason reason);
  void expire(Clock::time_point now);
  Clock::time_point next_deadline() const;

  // Lets in who can run, then evaluates one step. False when there was nothing to evaluate.
  bool step();
  bool is_idle() const { return jobs_.empty(); }
  // After step() found nothing to evaluate although requests wait: for a store, a few milliseconds at most.
  void wait_for_stores() const;

  // The conversation that a slot ran last.
  struct Conversation {
    std::string partition;
    std::vector<TokenId> tokens;
  };
  struct Slot {
    Choice* choice = nullptr;
    Conversation last;
    SlotState state;
    Clock::time_point used{};
  };
  std::vector<Slot>& slots() { return slots_; }

  const Totals& totals() const { return totals_; }
  // All but the limits, the budget and the memory.
  void report(Statistics& statistics) const;

 private:
  // batcher_admission.cpp
  void admit();
  Choice* next_to_admit();
  bool fits(const Choice& choice) const;
  bool waits_for_leader(Choice& choice);
  bool waits_for_stores(Choice& choice);
  void open(Choice& choice);
  Result<memory::Opened> open_sequence(Choice& choice);
  void start(Choice& choice, const memory::Opened& opened);
  void fork_choices(Choice& first, std::span<const float> logits);
  size_t free_slot(std::optional<size_t> preferred) const;
  void take_slot(Choice& choice, size_t slot);
  void release(Choice& choice, bool keep);
  void preempt_youngest();
  void wait(Choice& choice);

  // batcher.cpp
  void plan();
  Result<std::span<const float>> evaluate();
  void after_step(std::span<const float> logits);
  void reach_end(Choice& choice, std::span<const float> logits);
  void choose(Choice& choice, std::span<const float> logits);
  void finish(Choice& choice, FinishReason reason);
  void end(Job& job, FinishReason reason);
  void fail(Job& job, const Error& error);
  void drop_finished();
  void update_slots();

  struct Planned {
    Choice* choice = nullptr;
    size_t tokens = 0;
  };

  Engine& engine_;
  BatcherOptions options_;
  Footprint footprint_;
  PromptSlices slices_;
  Logprobs logprobs_;
  std::map<RequestId, std::unique_ptr<Job>> jobs_;
  std::vector<Choice*> waiting_;  // in order
  std::vector<Choice*> running_;  // in order
  std::vector<Slot> slots_;
  std::vector<RequestId> finished_jobs_;
  bool is_crowded_ = false;  // memory ran out: nobody is let in until somebody leaves
  size_t turn_ = 0;          // who gets the odd token of a slice
  size_t slice_limit_ = SIZE_MAX;
  Totals totals_;
  // Of the current step, kept for their capacity.
  std::vector<Planned> planned_;
  std::vector<StepEntry> entries_;
  std::vector<size_t> wanted_;
  std::vector<size_t> given_;
};

}  // namespace oxbow::engine
