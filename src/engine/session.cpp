#include "engine/session.h"

#include <algorithm>

#include "base/check.h"

namespace oxbow::engine {

Session::Session(Engine& engine, size_t context_tokens, std::string_view partition)
    : engine_(engine),
      context_tokens_(context_tokens),
      partition_(partition),
      sequence_(engine.memory().create(partition)) {}

Session::~Session() {
  OXBOW_CHECK(engine_.memory().drop(sequence_));
}

std::span<const TokenId> Session::tokens() const {
  return *engine_.memory().tokens(sequence_);
}

Result<PromptResult> Session::prompt(std::span<const TokenId> tokens,
                                     const std::function<bool(size_t done, size_t total)>& progress,
                                     std::span<const size_t> boundaries) {
  if (tokens.empty()) return fail(ErrorKind::kInvalidInput, "the prompt has no tokens");
  if (tokens.size() > context_tokens_) {
    return fail(ErrorKind::kOutOfBudget, "the prompt has {} tokens, the context holds {}", tokens.size(),
                context_tokens_);
  }
  engine_.recall(tokens, partition_);
  OXBOW_ASSIGN(const memory::Opened opened, engine_.memory().reopen(sequence_, tokens, boundaries));
  PromptResult result;
  result.tokens = tokens.size();
  result.matched = opened.matched;
  result.reused = opened.reused;
  result.miss = opened.miss;
  for (size_t done = result.reused; done < tokens.size();) {
    if (progress && !progress(done, tokens.size())) {
      result.stopped = true;
      return result;
    }
    const size_t count = std::min(engine_.options().max_step_tokens, tokens.size() - done);
    const bool last = done + count == tokens.size();
    const StepEntry entry{sequence_, tokens.subspan(done, count), last ? Outputs::kLast : Outputs::kNone};
    OXBOW_ASSIGN(logits_, engine_.step({&entry, 1}));
    done += count;
  }
  if (progress) progress(tokens.size(), tokens.size());
  return result;
}

Status Session::save(const std::string& path, std::string_view text) const {
  return save_session(engine_, sequence_, path, text);
}

Result<RestoredSession> Session::restore(const std::string& path) {
  OXBOW_ASSIGN(RestoredSession restored, restore_session(engine_, path, partition_));
  OXBOW_CHECK(engine_.memory().drop(sequence_));
  sequence_ = restored.sequence;
  logits_ = {};
  return restored;
}

TokenId Session::sample(Sampler& sampler) const {
  return sampler.sample(logits_, tokens());
}

Status Session::append(TokenId token) {
  if (is_full()) return fail(ErrorKind::kOutOfBudget, "the context of {} tokens is full", context_tokens_);
  const StepEntry entry{sequence_, {&token, 1}, Outputs::kLast};
  OXBOW_ASSIGN(logits_, engine_.step({&entry, 1}));
  return {};
}

}  // namespace oxbow::engine
