#pragma once
// Runs many requests on one engine: each step mixes sequences that decode with slices of prompts.

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "engine/engine.h"
#include "engine/request.h"
#include "engine/scheduler_statistics.h"

namespace oxbow::engine {

struct SchedulerOptions {
  size_t parallel = 8;        // sequences that run at once, at most; nothing is allocated for them ahead
  size_t queue_limit = 256;   // requests that wait, at most
  size_t context_tokens = 0;  // prompt and answer together; 0: what the model was trained for
  // A step with decoding sequences takes no more of prompts than it evaluates in about this time.
  std::chrono::milliseconds prompt_slice{100};
};

// What a slot operation did.
struct SlotReport {
  size_t tokens = 0;    // saved, restored or forgotten
  size_t reusable = 0;  // of those, held by memory: a prompt that starts with them need not evaluate them
  std::string reason;   // why `reusable` is less than the tokens, or empty
  size_t file_bytes = 0;
  double seconds = 0;
};

// All functions may be called from any thread. Owns the thread on which the engine, the sinks' callbacks and
// the `done` callbacks run; `done` is called exactly once, also when the scheduler is destroyed.
class Scheduler {
 public:
  // The engine's max_outputs and max_step_tokens must be at least `parallel`. kOutOfBudget when the system
  // refuses the thread.
  static Result<std::unique_ptr<Scheduler>> create(std::unique_ptr<Engine> engine,
                                                   const SchedulerOptions& options);
  // Stops what still runs (kShutdown); writes what waits for the stores.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  const model::Model& model() const;
  const SchedulerOptions& options() const;  // context_tokens resolved

  // After a refusal the sink is not called.
  tl::expected<RequestId, Refusal> submit(Request request, std::shared_ptr<Sink> sink);
  // Ends what is left of a request with kCancelled, between two steps; unknown ids are ignored.
  void cancel(RequestId request);

  // Takes no more requests, finishes those it has, stops at the deadline those that are not done (kShutdown),
  // then calls `done`.
  void drain(Clock::time_point deadline, std::function<void()> done = {});
  bool is_draining() const;

  Statistics statistics() const;

  using SlotCallback = std::function<void(Result<SlotReport>)>;
  // The slot's last conversation to a file, and back. The tokens belong to the partition of the request that
  // ran there: kNotFound for another one. kInvalidState while the slot is in use.
  void save(size_t slot, std::string path, std::string partition, SlotCallback done);
  void restore(size_t slot, std::string path, std::string partition, SlotCallback done);
  // Forgets the slot's conversation, and what memory keeps of it.
  void erase(size_t slot, std::string partition, SlotCallback done);

  // Runs a function on the engine's thread, between two steps; dropped when the scheduler is destroyed.
  void inspect(std::function<void(Engine&)> function);

 private:
  struct Shared;
  explicit Scheduler(std::unique_ptr<Shared> shared);
  std::unique_ptr<Shared> shared_;
};

}  // namespace oxbow::engine
