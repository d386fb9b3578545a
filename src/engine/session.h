#pragma once
// One conversation: a sequence that is brought to a prompt with as little work as possible, then continued.

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/engine.h"
#include "engine/sampler.h"

namespace oxbow::engine {

struct PromptResult {
  size_t tokens = 0;     // of the prompt
  size_t matched = 0;    // leading tokens that the session already held
  size_t reused = 0;     // of those, not evaluated again
  bool stopped = false;  // the progress callback asked to stop; the session holds what was done
};

// Not thread safe. The engine outlives it.
class Session {
 public:
  // context_tokens: the most tokens the sequence may hold.
  Session(Engine& engine, size_t context_tokens);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Makes the sequence hold exactly `tokens` (at least one), reusing the longest common prefix with what it
  // holds; the last token is always evaluated. progress(done, total) is called between steps; returning false
  // stops there. kOutOfBudget when the prompt does not fit the context or the memory.
  Result<PromptResult> prompt(std::span<const TokenId> tokens,
                              const std::function<bool(size_t done, size_t total)>& progress = {});

  // The logits after the last token: [vocabulary]. Valid until the next prompt or append.
  std::span<const float> logits() const { return logits_; }

  // Chooses the next token from the logits, without appending it.
  TokenId sample(Sampler& sampler) const;
  // Appends one token and evaluates it.
  Status append(TokenId token);

  std::span<const TokenId> tokens() const;
  size_t context_tokens() const { return context_tokens_; }
  bool is_full() const { return tokens().size() >= context_tokens_; }

 private:
  Engine& engine_;
  size_t context_tokens_;
  SequenceId sequence_;
  std::span<const float> logits_;
};

}  // namespace oxbow::engine
