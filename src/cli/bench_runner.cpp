#include "cli/bench_runner.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "cli/interrupt.h"
#include "cli/loading.h"

namespace oxbow::cli {
namespace {

using engine::Engine;
using engine::Outputs;
using engine::StepEntry;
using memory::SequenceId;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Tokens that look random, the same in every run; no control tokens, which come first or last in
// vocabularies.
std::vector<TokenId> some_tokens(size_t count, size_t vocabulary, size_t seed) {
  const size_t low = std::min<size_t>(3, vocabulary - 1);
  const size_t kinds = std::clamp<size_t>(vocabulary - low, 1, 200);
  std::vector<TokenId> tokens;
  tokens.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<TokenId>(low + (i * 7919 + seed * 104729) % kinds));
  }
  return tokens;
}

// The sequences of one repetition; dropped with it.
class Sequences {
 public:
  explicit Sequences(Engine& engine) : engine_(engine) {}
  ~Sequences() {
    for (const SequenceId id : ids_) (void)engine_.memory().drop(id);
  }
  Sequences(const Sequences&) = delete;
  Sequences& operator=(const Sequences&) = delete;

  size_t size() const { return ids_.size(); }
  SequenceId operator[](size_t i) const { return ids_[i]; }
  void add(SequenceId id) { ids_.push_back(id); }

 private:
  Engine& engine_;
  std::vector<SequenceId> ids_;
};

Status step(Engine& engine, std::span<const StepEntry> entries) {
  if (pending_interrupt() != 0) return fail(ErrorKind::kInvalidState, "stopped");
  const auto logits = engine.step(entries);
  if (!logits) return tl::unexpected<Error>(with_advice(logits.error()));
  return {};
}

Status evaluate_prompt(Engine& engine, SequenceId sequence, std::span<const TokenId> tokens) {
  for (size_t done = 0; done < tokens.size();) {
    const size_t count = std::min(engine.options().max_step_tokens, tokens.size() - done);
    const bool last = done + count == tokens.size();
    const StepEntry entry{sequence, tokens.subspan(done, count), last ? Outputs::kLast : Outputs::kNone};
    OXBOW_TRY(step(engine, {&entry, 1}));
    done += count;
  }
  return {};
}

class Bench {
 public:
  Bench(Engine& engine, const BenchTest& test)
      : engine_(engine), test_(test), vocabulary_(engine.model().vocabulary()) {}

  // The seconds of one repetition.
  Result<double> run(size_t seed) {
    Sequences sequences(engine_);
    OXBOW_TRY(open(sequences, seed));
    std::vector<std::vector<TokenId>> prompts;
    for (size_t i = 0; i < sequences.size(); ++i) {
      prompts.push_back(some_tokens(test_.prompt, vocabulary_, seed * 64 + i + 1));
    }
    const std::vector<TokenId> generated = some_tokens(test_.generate + sequences.size(), vocabulary_, seed);
    const std::vector<TokenId> draft = some_tokens(test_.draft, vocabulary_, seed);
    std::vector<StepEntry> entries(sequences.size());
    const double start = now();
    for (size_t i = 0; i < prompts.size(); ++i) {
      OXBOW_TRY(evaluate_prompt(engine_, sequences[i], prompts[i]));
    }
    for (size_t n = 0; n < test_.generate; ++n) {
      for (size_t i = 0; i < sequences.size(); ++i) {
        entries[i] = {sequences[i], std::span(generated).subspan(n + i, 1), Outputs::kLast};
      }
      OXBOW_TRY(step(engine_, entries));
    }
    for (size_t n = 0; test_.draft > 0 && n < kDraftSteps; ++n) {
      const StepEntry entry{sequences[0], draft, Outputs::kAll};
      OXBOW_TRY(step(engine_, {&entry, 1}));
    }
    return now() - start;
  }

 private:
  // Sequences of the test's depth. Their last token is their own, so that nothing of a fork is left to do.
  Status open(Sequences& sequences, size_t seed) {
    if (test_.depth > 1 && !base_) {
      base_.emplace(engine_);
      base_->add(engine_.memory().create());
      OXBOW_TRY(evaluate_prompt(engine_, (*base_)[0], some_tokens(test_.depth - 1, vocabulary_, 7)));
    }
    for (size_t i = 0; i < test_.parallel; ++i) {
      if (base_) {
        OXBOW_ASSIGN(const SequenceId fork, engine_.memory().fork((*base_)[0], test_.depth - 1));
        sequences.add(fork);
      } else {
        sequences.add(engine_.memory().create());
      }
      if (test_.depth == 0) continue;
      OXBOW_TRY(evaluate_prompt(engine_, sequences[i], some_tokens(1, vocabulary_, seed + i)));
    }
    return {};
  }

  Engine& engine_;
  const BenchTest& test_;
  size_t vocabulary_;
  std::optional<Sequences> base_;
};

}  // namespace

Result<std::vector<double>> run_bench_test(Engine& engine, const BenchTest& test, size_t repeat, bool warm_up,
                                           const std::function<void(size_t done)>& done) {
  Bench bench(engine, test);
  std::vector<double> seconds;
  for (size_t r = warm_up ? 0 : 1; r <= repeat; ++r) {
    OXBOW_ASSIGN(const double taken, bench.run(r));
    if (r > 0) seconds.push_back(taken);
    done(r);
  }
  return seconds;
}

}  // namespace oxbow::cli
