#pragma once
// Answers that must be calls of tools, for tool_choice "required" and named tools.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "grammar/grammar.h"
#include "text/tool_calls.h"

namespace oxbow::grammar {

struct ToolCallRules {
  std::string only;      // the one tool that may be called; empty: any of them
  bool parallel = true;  // more calls than one may be made, where the format has a place for them
};

// A call in the format's style with arguments by the tool's `parameters`. tools: the request's list. Errors:
// kInvalidInput for tools without a name, for an empty list and an unknown `only`; kUnsupported for a format
// without calls; those of schemas, their places from "/tools/INDEX/function/parameters" on.
Result<Grammar::Pointer> tool_call_grammar(const text::ToolCallFormat& format,
                                           const nlohmann::ordered_json& tools, const ToolCallRules& rules,
                                           Grammar::Vocabulary vocabulary, const Preamble& preamble = {});

}  // namespace oxbow::grammar
