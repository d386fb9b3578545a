// Sequences: made for prompts, kept, forked, cut, asked.

#include "c_api/arguments.h"
#include "c_api/objects.h"
#include "c_api/token_check.h"

using namespace oxbow;
using namespace oxbow::c_api;

namespace {

static_assert(static_cast<int>(memory::Miss::kNone) == OXBOW_REASON_NONE);
static_assert(static_cast<int>(memory::Miss::kCold) == OXBOW_REASON_COLD);
static_assert(static_cast<int>(memory::Miss::kDiverged) == OXBOW_REASON_DIVERGED);
static_assert(static_cast<int>(memory::Miss::kNoCheckpoint) == OXBOW_REASON_NO_CHECKPOINT);
static_assert(static_cast<int>(memory::Miss::kEvicted) == OXBOW_REASON_EVICTED);
static_assert(static_cast<int>(memory::Miss::kOverBudget) == OXBOW_REASON_OVER_BUDGET);
static_assert(static_cast<int>(memory::Miss::kVerifyFailed) == OXBOW_REASON_VERIFY_FAILED);

struct Prompt {
  std::span<const oxbow_token> tokens;
  std::span<const size_t> boundaries;
  std::string_view partition;
};

Result<Prompt> read_prompt(const oxbow_prompt* given, const model::Model& model) {
  OXBOW_ASSIGN(const oxbow_prompt read, read_struct(given, "prompt"));
  Prompt prompt;
  OXBOW_ASSIGN(prompt.tokens, list(read.tokens, read.token_count, "prompt.tokens"));
  OXBOW_TRY(check_tokens(prompt.tokens, model));
  OXBOW_ASSIGN(prompt.boundaries, list(read.boundaries, read.boundary_count, "prompt.boundaries"));
  if (read.partition != nullptr) prompt.partition = read.partition;
  return prompt;
}

void report(const memory::Opened& opened, size_t prompt_tokens, oxbow_reuse* reuse) {
  if (reuse == nullptr) return;
  oxbow_reuse answer{};
  answer.matched = opened.matched;
  answer.reused = opened.reused;
  answer.recompute = prompt_tokens - opened.reused;
  // Nothing is missing when only the last token is left, whether or not it was known.
  const bool whole = answer.recompute == 1;
  answer.reason = whole ? OXBOW_REASON_NONE : static_cast<oxbow_reason>(opened.miss);
  write_struct(answer, reuse);
}

}  // namespace

const char* oxbow_reason_name(oxbow_reason reason) {
  switch (reason) {
    case OXBOW_REASON_NONE:
      return "none";
    case OXBOW_REASON_COLD:
      return "cold";
    case OXBOW_REASON_DIVERGED:
      return "diverged";
    case OXBOW_REASON_NO_CHECKPOINT:
      return "no checkpoint";
    case OXBOW_REASON_EVICTED:
      return "evicted";
    case OXBOW_REASON_OVER_BUDGET:
      return "over budget";
    case OXBOW_REASON_VERIFY_FAILED:
      return "verify failed";
  }
  return "unknown reason";
}

oxbow_result oxbow_sequence_create(oxbow_engine* engine, const char* partition, oxbow_sequence* sequence) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    OXBOW_TRY(require(sequence, "sequence"));
    *sequence = object->engine->memory().create(partition != nullptr ? partition : "");
    return {};
  });
}

oxbow_result oxbow_sequence_open(oxbow_engine* engine, const oxbow_prompt* prompt, oxbow_sequence* sequence,
                                 oxbow_reuse* reuse) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    OXBOW_TRY(require(sequence, "sequence"));
    if (reuse != nullptr) OXBOW_TRY(check_struct(reuse, "reuse"));
    OXBOW_ASSIGN(const Prompt read, read_prompt(prompt, object->engine->model()));
    OXBOW_ASSIGN(const memory::Opened opened,
                 object->engine->memory().open(read.tokens, read.boundaries, read.partition));
    *sequence = opened.sequence;
    report(opened, read.tokens.size(), reuse);
    return {};
  });
}

oxbow_result oxbow_sequence_reopen(oxbow_engine* engine, oxbow_sequence sequence, const oxbow_prompt* prompt,
                                   oxbow_reuse* reuse) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    if (reuse != nullptr) OXBOW_TRY(check_struct(reuse, "reuse"));
    OXBOW_ASSIGN(const Prompt read, read_prompt(prompt, object->engine->model()));
    OXBOW_ASSIGN(const memory::Opened opened,
                 object->engine->memory().reopen(sequence, read.tokens, read.boundaries));
    report(opened, read.tokens.size(), reuse);
    return {};
  });
}

oxbow_result oxbow_sequence_keep(oxbow_engine* engine, oxbow_sequence sequence) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    return object->engine->memory().keep(sequence);
  });
}

oxbow_result oxbow_sequence_fork(oxbow_engine* engine, oxbow_sequence sequence, size_t position,
                                 oxbow_sequence* fork, size_t* length) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    OXBOW_TRY(require(fork, "fork"));
    memory::Memory& memory = object->engine->memory();
    OXBOW_ASSIGN(const memory::SequenceId made, memory.fork(sequence, position));
    OXBOW_ASSIGN(const size_t held, memory.length(made));
    *fork = made;
    if (length != nullptr) *length = held;
    return {};
  });
}

oxbow_result oxbow_sequence_truncate(oxbow_engine* engine, oxbow_sequence sequence, size_t position,
                                     size_t* length) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    OXBOW_ASSIGN(const size_t held, object->engine->memory().truncate(sequence, position));
    if (length != nullptr) *length = held;
    return {};
  });
}

oxbow_result oxbow_sequence_remove(oxbow_engine* engine, oxbow_sequence sequence, size_t begin, size_t end,
                                   size_t* length) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    OXBOW_ASSIGN(const size_t held, object->engine->memory().remove(sequence, begin, end));
    if (length != nullptr) *length = held;
    return {};
  });
}

oxbow_result oxbow_sequence_drop(oxbow_engine* engine, oxbow_sequence sequence) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    return object->engine->memory().drop(sequence);
  });
}

oxbow_result oxbow_sequence_length(oxbow_engine* engine, oxbow_sequence sequence, size_t* length) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    OXBOW_TRY(require(length, "length"));
    OXBOW_ASSIGN(*length, object->engine->memory().length(sequence));
    return {};
  });
}

oxbow_result oxbow_sequence_reach(oxbow_engine* engine, oxbow_sequence sequence, size_t* first,
                                  size_t* last) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    OXBOW_TRY(require(first, "first"));
    OXBOW_TRY(require(last, "last"));
    OXBOW_ASSIGN(const size_t reach, object->engine->memory().reach(sequence));
    OXBOW_ASSIGN(const size_t length, object->engine->memory().length(sequence));
    *first = reach;
    *last = length;
    return {};
  });
}

oxbow_result oxbow_sequence_tokens(oxbow_engine* engine, oxbow_sequence sequence, oxbow_token* tokens,
                                   size_t capacity, size_t* count) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    OXBOW_TRY(require(count, "count"));
    OXBOW_ASSIGN(const auto held, object->engine->memory().tokens(sequence));
    return copy_list(held, tokens, capacity, count);
  });
}
