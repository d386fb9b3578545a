// Steps: tokens in, logits out.

#include <algorithm>

#include "c_api/arguments.h"
#include "c_api/objects.h"
#include "c_api/token_check.h"

using namespace oxbow;
using namespace oxbow::c_api;

namespace {

Result<engine::Outputs> outputs_of(oxbow_outputs outputs) {
  switch (outputs) {
    case OXBOW_LOGITS_NONE:
      return engine::Outputs::kNone;
    case OXBOW_LOGITS_LAST:
      return engine::Outputs::kLast;
    case OXBOW_LOGITS_ALL:
      return engine::Outputs::kAll;
  }
  return fail(ErrorKind::kInvalidInput, "there is no choice number {} of outputs", static_cast<int>(outputs));
}

// Checks counts before anything is read, so that a wrong one costs an error and no memory.
Result<std::vector<engine::StepEntry>> read_entries(std::span<const oxbow_step_entry> given,
                                                    size_t max_tokens) {
  std::vector<engine::StepEntry> entries;
  size_t tokens = 0;
  for (const oxbow_step_entry& entry : given) {
    engine::StepEntry& read = entries.emplace_back();
    read.sequence = entry.sequence;
    OXBOW_ASSIGN(read.tokens, list(entry.tokens, entry.token_count, "tokens"));
    OXBOW_ASSIGN(read.outputs, outputs_of(entry.outputs));
    if (read.tokens.empty())
      return fail(ErrorKind::kInvalidInput, "the entry of sequence {} has no tokens", entry.sequence);
    if (read.tokens.size() > max_tokens - tokens) {
      return fail(ErrorKind::kInvalidInput, "the step has more tokens than the {} of max_step_tokens",
                  max_tokens);
    }
    tokens += read.tokens.size();
  }
  return entries;
}

}  // namespace

oxbow_result oxbow_step(oxbow_engine* engine, const oxbow_step_entry* entries, size_t entry_count,
                        const float** logits, size_t* rows) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    engine::Engine& running = *object->engine;
    OXBOW_ASSIGN(const auto given, list(entries, entry_count, "entries"));
    OXBOW_ASSIGN(const auto read, read_entries(given, running.options().max_step_tokens));
    OXBOW_ASSIGN(const auto result, running.step(read));
    if (logits != nullptr) *logits = result.empty() ? nullptr : result.data();
    if (rows != nullptr) *rows = result.size() / running.model().vocabulary();
    return {};
  });
}

oxbow_result oxbow_evaluate(oxbow_engine* engine, oxbow_sequence sequence, const oxbow_token* tokens,
                            size_t token_count, const float** logits) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    engine::Engine& running = *object->engine;
    OXBOW_ASSIGN(const auto given, list(tokens, token_count, "tokens"));
    if (given.empty()) return fail(ErrorKind::kInvalidInput, "there are no tokens to evaluate");
    OXBOW_TRY(check_tokens(given, running.model()));
    std::span<const float> row;
    for (size_t done = 0; done < given.size();) {
      const size_t count = std::min(running.options().max_step_tokens, given.size() - done);
      const bool wanted = logits != nullptr && done + count == given.size();
      const engine::StepEntry entry{sequence, given.subspan(done, count),
                                    wanted ? engine::Outputs::kLast : engine::Outputs::kNone};
      OXBOW_ASSIGN(row, running.step({&entry, 1}));
      done += count;
    }
    if (logits != nullptr) *logits = row.data();
    return {};
  });
}
