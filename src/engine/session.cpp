#include "engine/session.h"

#include <algorithm>

#include "base/check.h"

namespace oxbow::engine {

Session::Session(Engine& engine, size_t context_tokens)
    : engine_(engine), context_tokens_(context_tokens), sequence_(engine.memory().create()) {}

Session::~Session() {
  OXBOW_CHECK(engine_.memory().drop(sequence_));
}

std::span<const TokenId> Session::tokens() const {
  return *engine_.memory().tokens(sequence_);
}

Result<PromptResult> Session::prompt(std::span<const TokenId> tokens,
                                     const std::function<bool(size_t done, size_t total)>& progress) {
  if (tokens.empty()) return fail(ErrorKind::kInvalidInput, "the prompt has no tokens");
  if (tokens.size() > context_tokens_) {
    return fail(ErrorKind::kOutOfBudget, "the prompt has {} tokens, the context holds {}", tokens.size(),
                context_tokens_);
  }
  const std::span<const TokenId> held = this->tokens();
  const auto mismatch = std::ranges::mismatch(held, tokens);
  PromptResult result;
  result.tokens = tokens.size();
  result.matched = static_cast<size_t>(mismatch.in1 - held.begin());
  const size_t wanted = std::min(result.matched, tokens.size() - 1);
  OXBOW_ASSIGN(result.reused, engine_.memory().truncate(sequence_, wanted));
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
