#pragma once
// A compiled grammar: the texts that an answer may be (docs/structured-output.md).

#include <cstddef>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/status.h"
#include "grammar/expressions.h"
#include "grammar/token_tree.h"
#include "text/thinking.h"

namespace oxbow::grammar {

class Automaton;
struct Program;

// What may stand in front of the constrained text.
struct Preamble {
  enum class Thoughts {
    kNone,
    kOptional,  // the answer may begin with thoughts between the marks
    kOpen,      // the prompt opened the thoughts: free text up to the closing mark comes first
  };
  Thoughts thoughts = Thoughts::kNone;
  const text::ThinkingMarks* marks = nullptr;  // of the thoughts; must not be null unless kNone
};

// Immutable and shared by any number of threads and sequences. What sequences find out about it (automaton
// states, masks) is kept behind a lock, at most a few megabytes, and helps the next ones.
class Grammar {
 public:
  using Pointer = std::shared_ptr<const Grammar>;
  using Vocabulary = std::shared_ptr<const GrammarVocabulary>;

  // GBNF, as llama.cpp's `grammar` takes it. Errors: kInvalidInput with line and column; kOutOfBudget for
  // grammars above the limits.
  static Result<Pointer> from_gbnf(std::string_view source, Vocabulary vocabulary,
                                   const Preamble& preamble = {});

  // A JSON text that a schema accepts. Errors: kUnsupported that names the keyword and its JSON pointer;
  // kInvalidInput for what is no schema or accepts nothing; kOutOfBudget for schemas above the limits.
  static Result<Pointer> from_json_schema(const nlohmann::ordered_json& schema, Vocabulary vocabulary,
                                          const Preamble& preamble = {});

  // Any JSON object.
  static Result<Pointer> any_json_object(Vocabulary vocabulary, const Preamble& preamble = {});

  // From rules built by hand; the first rule is the root. Errors: as from_gbnf, without a place.
  static Result<Pointer> compile(Expressions expressions, Vocabulary vocabulary,
                                 const Preamble& preamble = {});

  ~Grammar();
  Grammar(const Grammar&) = delete;
  Grammar& operator=(const Grammar&) = delete;

  const Program& program() const { return *program_; }
  const GrammarVocabulary& vocabulary() const { return *vocabulary_; }

  // The automaton that new sequences share; a fresh one when `full` is it.
  std::shared_ptr<Automaton> automaton(const std::shared_ptr<Automaton>& full = nullptr) const;

 private:
  Grammar(std::unique_ptr<const Program> program, Vocabulary vocabulary);

  std::unique_ptr<const Program> program_;
  Vocabulary vocabulary_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<Automaton> automaton_;
};

}  // namespace oxbow::grammar
