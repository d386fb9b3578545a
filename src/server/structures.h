#pragma once
// From what a request wants its answer to be to a constraint of the engine.

#include <memory>

#include "grammar/grammar.h"
#include "grammar/grammar_cache.h"
#include "server/chat_request.h"
#include "text/chat_format.h"
#include "text/tool_calls.h"

namespace oxbow::server {

// The grammars of one model; the last ones are kept. Any thread.
class Structures {
 public:
  // Keeps a reference to the tokenizer.
  explicit Structures(const text::Tokenizer& tokenizer)
      : vocabulary_(std::make_shared<const grammar::GrammarVocabulary>(tokenizer)) {}

  // Null for answers in any form. Errors: 400 that names the field, and the keyword of a schema.
  Checked<std::unique_ptr<engine::Constraint>> constraint(const Structure& structure,
                                                          const grammar::Preamble& preamble);
  // A call of one of the tools, or of the named one.
  Checked<std::unique_ptr<engine::Constraint>> call(const text::ToolCallFormat& format,
                                                    const ChatRequest& request,
                                                    const grammar::Preamble& preamble);

 private:
  using Make = std::function<Result<grammar::Grammar::Pointer>(grammar::Grammar::Vocabulary)>;
  Checked<std::unique_ptr<engine::Constraint>> make(const std::string& key, const std::string& field,
                                                    const grammar::Preamble& preamble, const Make& make);

  const grammar::Grammar::Vocabulary vocabulary_;
  grammar::GrammarCache cache_;
};

}  // namespace oxbow::server
