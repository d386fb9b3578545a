#pragma once
// One conversation: a sequence that is brought to a prompt with as little work as possible, then continued.

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/engine.h"
#include "engine/sampler.h"
#include "engine/session_file.h"

namespace oxbow::engine {

struct PromptResult {
  size_t tokens = 0;                        // of the prompt
  size_t matched = 0;                       // leading tokens that were known
  size_t reused = 0;                        // of those, not evaluated again
  memory::Miss miss = memory::Miss::kCold;  // why not more were reused
  bool stopped = false;  // the progress callback asked to stop; the session holds what was done
};

// Not thread safe. The engine outlives it.
class Session {
 public:
  // context_tokens: the most tokens the sequence may hold. partition: see Memory::create.
  Session(Engine& engine, size_t context_tokens, std::string_view partition = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Makes the sequence hold exactly `tokens` (at least one), reusing what it holds or what is kept of any
  // sequence of the partition; the last token is always evaluated. progress(done, total) is called between
  // steps; returning false stops there. boundaries: positions at which later prompts may part from this one,
  // such as ends of messages. kOutOfBudget when the prompt does not fit the context or the memory.
  Result<PromptResult> prompt(std::span<const TokenId> tokens,
                              const std::function<bool(size_t done, size_t total)>& progress = {},
                              std::span<const size_t> boundaries = {});

  // Keeps a checkpoint at the end of the sequence, for prompts that will continue it.
  Status keep() { return engine_.memory().keep(sequence_); }

  // Writes the sequence and `text` to a file; restores both from one. See session_file.h. The session goes on
  // with prompt(), which reuses what was restored.
  Status save(const std::string& path, std::string_view text) const;
  Result<RestoredSession> restore(const std::string& path);

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
  std::string partition_;
  SequenceId sequence_;
  std::span<const float> logits_;
};

}  // namespace oxbow::engine
