#include "server/structures.h"

#include "engine/grammar_constraint.h"
#include "grammar/tool_grammar.h"

namespace oxbow::server {

using grammar::Grammar;
using grammar::Preamble;

Checked<std::unique_ptr<engine::Constraint>> Structures::make(const std::string& key,
                                                              const std::string& field,
                                                              const Preamble& preamble, const Make& make) {
  const std::string whole =
      fmt::format("{} {} {}", static_cast<int>(preamble.thoughts),
                  preamble.marks == nullptr ? std::string_view() : preamble.marks->open, key);
  auto grammar = cache_.get(whole, [&] { return make(vocabulary_); });
  if (grammar) return engine::make_constraint(std::move(*grammar));
  const bool unsupported = grammar.error().kind == ErrorKind::kUnsupported;
  return tl::unexpected(ErrorAnswer{.code = unsupported ? "unsupported_schema" : "invalid_value",
                                    .message = fmt::format("'{}': {}", field, grammar.error().message),
                                    .parameter = field});
}

Checked<std::unique_ptr<engine::Constraint>> Structures::constraint(const Structure& structure,
                                                                    const Preamble& preamble) {
  using Kind = Structure::Kind;
  switch (structure.kind) {
    case Kind::kFree:
      break;
    case Kind::kJsonObject:
      return make("object", structure.path, preamble, [&](Grammar::Vocabulary vocabulary) {
        return Grammar::any_json_object(std::move(vocabulary), preamble);
      });
    case Kind::kJsonSchema:
      return make("schema " + to_text(structure.schema), structure.path, preamble,
                  [&](Grammar::Vocabulary vocabulary) {
                    return Grammar::from_json_schema(structure.schema, std::move(vocabulary), preamble);
                  });
    case Kind::kGrammar:
      return make("gbnf " + structure.grammar, structure.path, preamble, [&](Grammar::Vocabulary vocabulary) {
        return Grammar::from_gbnf(structure.grammar, std::move(vocabulary), preamble);
      });
  }
  return nullptr;
}

Checked<std::unique_ptr<engine::Constraint>> Structures::call(const text::ToolCallFormat& format,
                                                              const ChatRequest& request,
                                                              const Preamble& preamble) {
  const grammar::ToolCallRules rules{request.tool_choice.name, request.parallel_tool_calls};
  const std::string key =
      fmt::format("call {} {} {}", rules.only, rules.parallel ? 1 : 0, to_text(request.tools));
  return make(key, "tools", preamble, [&](Grammar::Vocabulary vocabulary) {
    return grammar::tool_call_grammar(format, request.tools, rules, std::move(vocabulary), preamble);
  });
}

}  // namespace oxbow::server
