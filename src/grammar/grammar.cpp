#include "grammar/grammar.h"

#include <nlohmann/json.hpp>

#include "grammar/automaton.h"
#include "grammar/gbnf.h"
#include "grammar/json_schema.h"
#include "grammar/program.h"

namespace oxbow::grammar {

namespace {

// Puts what may come first in front of rule 0.
void add_preamble(Expressions& expressions, const Preamble& preamble, const GrammarVocabulary& vocabulary) {
  if (preamble.thoughts == Preamble::Thoughts::kNone || preamble.marks == nullptr) return;
  if (expressions.rules().empty()) return;
  const auto mark = [&](std::string_view text) {
    const auto control = vocabulary.find_control(text);
    return control ? expressions.token(*control) : expressions.text(text);
  };
  const auto close = [&](std::string_view text) {
    const auto control = vocabulary.find_control(text);
    if (!control) return expressions.until(text);
    return expressions.sequence({expressions.without(text), expressions.token(*control)});
  };
  const ExpressionId blanks =
      expressions.repeat(expressions.choice({expressions.text(" "), expressions.text("\n")}), 0, 4);
  ExpressionId thoughts = expressions.sequence({close(preamble.marks->close), blanks});
  if (preamble.thoughts == Preamble::Thoughts::kOptional)
    thoughts = expressions.optional(expressions.sequence({blanks, mark(preamble.marks->open), thoughts}));
  expressions.define(0, expressions.sequence({thoughts, expressions.rules()[0].body}));
}

Result<Grammar::Pointer> finish(Result<Expressions> expressions, Grammar::Vocabulary vocabulary,
                                const Preamble& preamble) {
  if (!expressions) return tl::unexpected(std::move(expressions).error());
  return Grammar::compile(std::move(*expressions), std::move(vocabulary), preamble);
}

}  // namespace

Grammar::Grammar(std::unique_ptr<const Program> program, Vocabulary vocabulary)
    : program_(std::move(program)), vocabulary_(std::move(vocabulary)) {}

Grammar::~Grammar() = default;

Result<Grammar::Pointer> Grammar::compile(Expressions expressions, Vocabulary vocabulary,
                                          const Preamble& preamble) {
  add_preamble(expressions, preamble, *vocabulary);
  OXBOW_ASSIGN(Program program, compile_program(expressions, vocabulary->tree().single_bytes));
  return Pointer(new Grammar(std::make_unique<const Program>(std::move(program)), std::move(vocabulary)));
}

Result<Grammar::Pointer> Grammar::from_gbnf(std::string_view source, Vocabulary vocabulary,
                                            const Preamble& preamble) {
  Result<Expressions> expressions = parse_gbnf(source, *vocabulary);
  return finish(std::move(expressions), std::move(vocabulary), preamble);
}

Result<Grammar::Pointer> Grammar::from_json_schema(const nlohmann::ordered_json& schema,
                                                   Vocabulary vocabulary, const Preamble& preamble) {
  return finish(schema_expressions(schema), std::move(vocabulary), preamble);
}

Result<Grammar::Pointer> Grammar::any_json_object(Vocabulary vocabulary, const Preamble& preamble) {
  return finish(json_object_expressions(), std::move(vocabulary), preamble);
}

std::shared_ptr<Automaton> Grammar::automaton(const std::shared_ptr<Automaton>& full) const {
  const std::lock_guard lock(mutex_);
  if (!automaton_ || automaton_ == full) automaton_ = std::make_shared<Automaton>(*program_, *vocabulary_);
  return automaton_;
}

}  // namespace oxbow::grammar
