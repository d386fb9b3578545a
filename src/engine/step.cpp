// The path of a step.

#include "engine/engine.h"

namespace oxbow::engine {

Result<std::span<const float>> Engine::step(std::span<const StepEntry> entries) {
  OXBOW_TRY(check(entries));
  if (tiers_ != nullptr) tiers_->collect();
  OXBOW_ASSIGN(memory::Step step, memory_.prepare(batch_));
  model_->forward(step.views(), tokens_, output_rows_, pool_, {scratch_.data(), scratch_.size()},
                  logits_.data());
  step.commit();
  return std::span<const float>(logits_).first(output_rows_.size() * model_->vocabulary());
}

// Lays the entries out as one batch: rows of an entry follow each other.
Status Engine::check(std::span<const StepEntry> entries) {
  batch_.clear();
  tokens_.clear();
  output_rows_.clear();
  for (const StepEntry& entry : entries) {
    batch_.push_back({entry.sequence, entry.tokens, 0});
    for (size_t i = 0; i < entry.tokens.size(); ++i) {
      const TokenId token = entry.tokens[i];
      if (token < 0 || static_cast<size_t>(token) >= model_->vocabulary()) {
        return fail(ErrorKind::kInvalidInput, "token {} is outside the vocabulary of {} tokens", token,
                    model_->vocabulary());
      }
      const bool last = i + 1 == entry.tokens.size();
      const bool wanted = entry.outputs == Outputs::kAll || (entry.outputs == Outputs::kLast && last);
      if (wanted) output_rows_.push_back(tokens_.size());
      tokens_.push_back(token);
    }
  }
  if (tokens_.empty() || tokens_.size() > options_.max_step_tokens) {
    return fail(ErrorKind::kInvalidInput, "a step of {} tokens; expected 1 to {}", tokens_.size(),
                options_.max_step_tokens);
  }
  if (output_rows_.size() > options_.max_outputs) {
    return fail(ErrorKind::kInvalidInput, "{} rows of logits are wanted; a step gives at most {}",
                output_rows_.size(), options_.max_outputs);
  }
  return {};
}

}  // namespace oxbow::engine
