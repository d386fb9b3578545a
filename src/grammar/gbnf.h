#pragma once
// GBNF, the grammar notation of llama.cpp (its grammars/README.md): rules `name ::= ...`, alternatives `|`,
// groups, "texts", [sets], `.`, repetitions * + ? {m,n}, # comments, tokens <text> and <[id]>.

#include <string_view>

#include "base/status.h"
#include "grammar/expressions.h"
#include "grammar/token_tree.h"

namespace oxbow::grammar {

struct GbnfLimits {
  size_t source_bytes = size_t{1} << 20;
  size_t nesting = 64;               // groups within groups
  uint32_t repetitions = 1'000'000;  // the numbers of {m,n}
};

// Rule 0 is `root`. Errors: kInvalidInput with line and column (both from 1; columns in bytes), kOutOfBudget
// above the limits.
Result<Expressions> parse_gbnf(std::string_view source, const GrammarVocabulary& vocabulary,
                               const GbnfLimits& limits = {});

}  // namespace oxbow::grammar
