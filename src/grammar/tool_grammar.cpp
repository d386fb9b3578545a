#include "grammar/tool_grammar.h"

#include <nlohmann/json.hpp>

#include "grammar/json_schema.h"
#include "grammar/json_strings.h"

namespace oxbow::grammar {

namespace {

using Json = nlohmann::ordered_json;
using text::ToolCallStyle;

constexpr uint32_t kMaxCalls = 64;

class ToolCalls {
 public:
  ToolCalls(const text::ToolCallFormat& format, const GrammarVocabulary& vocabulary)
      : format_(format), vocabulary_(vocabulary), root_(e_.add_rule("root")), json_(e_) {}

  Result<Expressions> run(const Json& tools, const ToolCallRules& rules) {
    if (format_.style == ToolCallStyle::kNone)
      return fail(ErrorKind::kUnsupported, "the model's chat template has no way to call tools");
    std::vector<ExpressionId> calls;
    for (size_t i = 0; i < tools.size(); ++i) {
      const Json& function = text::tool_function(tools[i]);
      const auto name = function.find("name");
      if (name == function.end() || !name->is_string())
        return fail(ErrorKind::kInvalidInput, "tool {} has no name", i);
      if (!rules.only.empty() && *name != Json(rules.only)) continue;
      const Json parameters = function.contains("parameters") && !function["parameters"].is_null()
                                  ? function["parameters"]
                                  : Json{{"type", "object"}, {"properties", Json::object()}};
      const std::string place = fmt::format("/tools/{}/function/parameters", i);
      OXBOW_ASSIGN(const ExpressionId call, one_call(name->get<std::string>(), parameters, place));
      calls.push_back(call);
    }
    if (calls.empty() && !rules.only.empty())
      return fail(ErrorKind::kInvalidInput, "there is no tool '{}'", rules.only);
    if (calls.empty()) return fail(ErrorKind::kInvalidInput, "there are no tools to call");
    e_.define(root_, all_calls(e_.named("call", e_.choice(calls)), rules.parallel));
    return std::move(e_);
  }

 private:
  ExpressionId mark(std::string_view text) {
    const auto control = vocabulary_.find_control(text);
    return control ? e_.token(*control) : e_.text(text);
  }

  Result<ExpressionId> one_call(const std::string& name, const Json& parameters, const std::string& place) {
    if (format_.style == ToolCallStyle::kXmlParameters || format_.style == ToolCallStyle::kPython)
      return call_by_parameter(name, parameters, place);
    OXBOW_ASSIGN(const ExpressionId arguments, add_schema(e_, json_, parameters, place));
    return e_.sequence({e_.text("{\"name\": " + json_quoted(name) + ", \"" + format_.arguments + "\": "),
                        arguments, e_.text("}")});
  }

  // Each parameter in its place; optional ones may be left out.
  Result<ExpressionId> call_by_parameter(const std::string& name, const Json& parameters,
                                         const std::string& place) {
    const bool python = format_.style == ToolCallStyle::kPython;
    const Json none = Json::object();
    const Json& properties = parameters.contains("properties") ? parameters["properties"] : none;
    if (!properties.is_object())
      return fail(ErrorKind::kInvalidInput, "schema at '{}/properties': expected an object", place);
    ExpressionId first = e_.empty(), after = e_.empty();
    std::vector<std::pair<std::string, Json>> list;
    for (const auto& [key, schema] : properties.items()) list.emplace_back(key, schema);
    for (size_t i = list.size(); i-- > 0;) {
      const auto& [key, schema] = list[i];
      // References are to the schema of all parameters.
      Json own = schema;
      for (const char* definitions : {"$defs", "definitions"}) {
        if (own.is_object() && parameters.contains(definitions)) own[definitions] = parameters[definitions];
      }
      const bool plain = !python && schema.is_object() && schema.contains("type") &&
                         schema["type"] == Json("string") && !schema.contains("enum") &&
                         !schema.contains("const") && !schema.contains("pattern");
      ExpressionId value = e_.until("\n</parameter>\n");
      if (!plain) {
        OXBOW_ASSIGN(value, add_schema(e_, json_, own, place + "/properties/" + key));
        if (!python) value = e_.sequence({value, e_.text("\n</parameter>\n")});
      }
      const ExpressionId member = e_.named(
          "parameter", e_.sequence({e_.text(python ? key + "=" : "<parameter=" + key + ">\n"), value}));
      bool required = false;
      if (parameters.contains("required") && parameters["required"].is_array()) {
        for (const Json& one : parameters["required"]) required = required || one == Json(key);
      }
      const ExpressionId next = python ? e_.sequence({e_.text(", "), member}) : member;
      const ExpressionId here = e_.sequence({member, after});
      first = required ? here : e_.choice({here, first});
      after = e_.named("parameters", e_.sequence({required ? next : e_.optional(next), after}));
    }
    if (python) return e_.sequence({e_.text(name + "("), first, e_.text(")")});
    return e_.sequence({e_.text("<function=" + name + ">\n"), first, e_.text("</function>")});
  }

  ExpressionId all_calls(ExpressionId call, bool parallel) {
    const ExpressionId open = mark(format_.open), close = mark(format_.close);
    const uint32_t more = parallel ? kMaxCalls - 1 : 0;
    switch (format_.style) {
      case ToolCallStyle::kBareJson:
        return call;
      case ToolCallStyle::kJson:
      case ToolCallStyle::kXmlParameters: {
        const ExpressionId one =
            e_.named("marked", e_.sequence({open, e_.text("\n"), call, e_.text("\n"), close}));
        return e_.sequence({one, e_.repeat(e_.sequence({e_.text("\n"), one}), 0, more)});
      }
      default: {
        const ExpressionId space = format_.open == "[TOOL_CALLS]" ? e_.optional(e_.text(" ")) : e_.empty();
        const ExpressionId rest = e_.repeat(e_.sequence({e_.text(", "), call}), 0, more);
        return e_.sequence({open, space, e_.text("["), call, rest, e_.text("]"), close});
      }
    }
  }

  const text::ToolCallFormat& format_;
  const GrammarVocabulary& vocabulary_;
  Expressions e_;
  RuleId root_;
  JsonTexts json_;
};

}  // namespace

Result<Grammar::Pointer> tool_call_grammar(const text::ToolCallFormat& format, const Json& tools,
                                           const ToolCallRules& rules, Grammar::Vocabulary vocabulary,
                                           const Preamble& preamble) {
  OXBOW_ASSIGN(Expressions expressions, ToolCalls(format, *vocabulary).run(tools, rules));
  return Grammar::compile(std::move(expressions), std::move(vocabulary), preamble);
}

}  // namespace oxbow::grammar
