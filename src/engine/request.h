#pragma once
// What is asked of a scheduler, and what it answers.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/constraint.h"
#include "engine/sampler.h"
#include "memory/prefix_tree.h"

namespace oxbow::engine {

using Clock = std::chrono::steady_clock;
using RequestId = uint64_t;

struct Request {
  std::vector<TokenId> prompt;     // at least one token
  std::vector<size_t> boundaries;  // ascending positions in the prompt at which later prompts may part from
                                   // it, such as ends of messages
  std::string partition;           // only requests of the same partition share what is kept
  SamplerSettings sampling;
  std::vector<LogitBias> logit_bias;
  size_t max_tokens = SIZE_MAX;  // of each choice; the context bounds them, too
  size_t choices = 1;            // answers to the same prompt, which is evaluated once
  bool logprobs = false;
  size_t top_logprobs = 0;          // alternatives beside each token
  std::vector<TokenId> end_tokens;  // end an answer; not reported as tokens
  bool ignore_end = false;          // end tokens are never chosen; without effect under a constraint
  std::unique_ptr<Constraint> constraint;
  bool cache_prompt = true;                               // false: reuse nothing and keep nothing
  std::optional<size_t> slot;                             // preferred when it is free
  Clock::time_point deadline = Clock::time_point::max();  // stopped then, in whatever phase it is
};

enum class RefusalKind {
  kInvalid,       // breaks the rules of Request
  kTooLarge,      // can never fit the context or the memory budget
  kQueueFull,     // later it may be taken
  kShuttingDown,  // no more requests are taken
};

struct Refusal {
  RefusalKind kind;
  std::string message;
};

enum class FinishReason {
  kEnd,        // an end token, or the constraint is complete
  kStopped,    // the sink wanted no more
  kLength,     // max_tokens or the context
  kMemory,     // the memory budget has no room for another token, with everything else moved out
  kCancelled,  // by cancel()
  kDeadline,   // the request's
  kShutdown,   // the scheduler's
};
std::string_view finish_name(FinishReason reason);

// Told when the prompt's evaluation begins.
struct Started {
  size_t slot = 0;
  size_t prompt_tokens = 0;
  size_t matched = 0;                       // leading tokens of the prompt that were known
  size_t reused = 0;                        // of those, not evaluated again
  memory::Miss miss = memory::Miss::kCold;  // why not more were reused
};

struct TokenLogprob {
  TokenId token = 0;
  float logprob = 0;
};

struct TokenEvent {
  size_t choice = 0;
  TokenId token = 0;
  float logprob = 0;                  // natural, of the model's own logits; 0 unless asked for
  std::span<const TokenLogprob> top;  // most likely first; valid during the call
};

struct Timings {
  double queue_seconds = 0;   // until the evaluation began
  double prompt_seconds = 0;  // until the first token
  double decode_seconds = 0;  // until the end
};

struct Finished {
  size_t choice = 0;
  FinishReason reason = FinishReason::kEnd;
  Timings timings;
  size_t prompt_tokens = 0;
  size_t reused = 0;       // of the prompt
  size_t generated = 0;    // tokens chosen, an end token among them
  size_t preemptions = 0;  // how often it was moved out to make room
};

// Receives the answer. Called on the scheduler's thread, one call at a time, in this order: started, progress
// any number of times, token and finished for each choice; or failed at any point instead of what is left of
// them. finished is called once for each choice, or failed once; nothing follows. Calls must be quick and
// must not call the scheduler, except cancel().
class Sink {
 public:
  enum class Next { kContinue, kStop };

  virtual ~Sink() = default;
  virtual void started(const Started& /*started*/) {}
  // After each slice of the prompt; `done` includes what was reused.
  virtual void progress(size_t /*done*/, size_t /*total*/) {}
  // kStop ends the choice with kStopped and nothing more is evaluated for it.
  virtual Next token(const TokenEvent& event) = 0;
  virtual void finished(const Finished& finished) = 0;
  virtual void failed(const Error& error) = 0;
};

}  // namespace oxbow::engine
