#include "grammar/tool_grammar.h"

#include <gtest/gtest.h>

#include "grammar/grammar_support.h"

namespace oxbow::grammar {
namespace {

using namespace testing;
using text::ToolCallFormat;
using text::ToolCallParser;
using text::ToolCallStyle;

const Json& tools() {
  static const Json list = Json::parse(R"([
    {"type": "function", "function": {"name": "add", "parameters": {"type": "object",
      "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 99}, "ok": {"type": "boolean"},
                     "s": {"type": "string"}}, "required": ["a"], "additionalProperties": false}}},
    {"type": "function", "function": {"name": "go"}}])");
  return list;
}

const ToolCallFormat kFormats[] = {{ToolCallStyle::kJson, "<tool_call>", "</tool_call>"},
                                   {ToolCallStyle::kJsonList, "[TOOL_CALLS]", ""},
                                   {ToolCallStyle::kJsonList, "<TOOLCALL>", "</TOOLCALL>"},
                                   {ToolCallStyle::kBareJson, "", "", "parameters"},
                                   {ToolCallStyle::kXmlParameters, "<tool_call>", "</tool_call>"},
                                   {ToolCallStyle::kPython, "<|mark|>", "<|/mark|>"}};

// As random_text(), with control tokens spelled out.
std::string spelled(const Grammar::Pointer& grammar, std::mt19937& random) {
  Constraint constraint(grammar);
  std::string text;
  for (size_t step = 0; step < 4000 && !constraint.is_complete(); ++step) {
    const auto ids = allowed(constraint.mask());
    if (ids.empty()) break;
    TokenId pick = ids[random() % ids.size()];
    if (step > 60) {
      for (const char* end : {"\"", "\n", "<", "/", "p", "a", "r", "}", "]", ")"}) {
        if (constraint.mask().allows(*end) && random() % 4 != 0) {
          pick = *end;
          break;
        }
      }
      if (constraint.mask().allows(256)) pick = 256;
    }
    EXPECT_TRUE(constraint.accept(pick));
    if (pick == 257)
      text += "<|mark|>";
    else if (pick != 256)
      text += model().vocabulary->bytes(pick);
  }
  return constraint.is_complete() ? text : "";
}

TEST(ToolGrammar, WhatItLeadsToIsCalls) {
  std::mt19937 random(9);
  for (const ToolCallFormat& format : kFormats) {
    const auto grammar = tool_call_grammar(format, tools(), {}, model().vocabulary);
    ASSERT_TRUE(grammar) << grammar.error().message;
    int whole = 0;
    for (int i = 0; i < 30; ++i) {
      const std::string text = spelled(*grammar, random);
      if (text.empty()) continue;
      ++whole;
      ToolCallParser parser(format, tools());
      std::vector<ToolCallParser::Event> events;
      parser.push(text, events);
      parser.flush(events);
      EXPECT_GT(parser.calls(), 0u) << text;
      for (const auto& event : events) {
        EXPECT_NE(event.kind, ToolCallParser::Kind::kText) << text << "\n" << event.text;
        if (event.kind != ToolCallParser::Kind::kArguments) continue;
        const Json arguments = Json::parse(event.text);
        EXPECT_TRUE(!arguments.contains("a") || (arguments["a"] >= 0 && arguments["a"] <= 99)) << text;
      }
    }
    EXPECT_GT(whole, 10) << static_cast<int>(format.style);
  }
}

TEST(ToolGrammar, KeepsToTheNamedTool) {
  ToolCallRules rules;
  rules.only = "go";
  rules.parallel = false;
  const auto grammar = tool_call_grammar(kFormats[0], tools(), rules, model().vocabulary);
  ASSERT_TRUE(grammar);
  EXPECT_TRUE(matches(*grammar, "<tool_call>\n{\"name\": \"go\", \"arguments\": {}}\n</tool_call>"));
  EXPECT_FALSE(
      matches(*grammar, "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>"));
  rules.only = "nosuch";
  EXPECT_FALSE(tool_call_grammar(kFormats[0], tools(), rules, model().vocabulary));
  EXPECT_FALSE(tool_call_grammar(kFormats[0], Json::array(), {}, model().vocabulary));
  EXPECT_FALSE(tool_call_grammar({}, tools(), {}, model().vocabulary));
}

TEST(ToolGrammar, NamesThePlaceOfWhatASchemaLacks) {
  const Json bad = Json::parse(R"([{"function": {"name": "f", "parameters": {"type": "object",
    "properties": {"x": {"not": {}}}}}}])");
  for (const ToolCallFormat& format : kFormats) {
    const auto grammar = tool_call_grammar(format, bad, {}, model().vocabulary);
    ASSERT_FALSE(grammar);
    EXPECT_NE(grammar.error().message.find("/tools/0/function/parameters/properties/x/not"),
              std::string::npos)
        << grammar.error().message;
  }
}

TEST(Preamble, ThoughtsComeFirst) {
  Preamble preamble;
  preamble.marks = &text::thinking_marks()[0];
  preamble.thoughts = Preamble::Thoughts::kOpen;
  const auto open = *Grammar::any_json_object(model().vocabulary, preamble);
  EXPECT_TRUE(matches(open, "so </thin</think>\n\n{\"a\":1}"));
  EXPECT_FALSE(matches(open, "{\"a\":1}"));
  EXPECT_FALSE(matches(open, "</think>\n\nno"));
  preamble.thoughts = Preamble::Thoughts::kOptional;
  const auto optional = *Grammar::any_json_object(model().vocabulary, preamble);
  EXPECT_TRUE(matches(optional, "{\"a\":1}"));
  EXPECT_TRUE(matches(optional, "<think>x</think>{\"a\":1}"));
  EXPECT_FALSE(matches(optional, "<think>x{\"a\":1}"));
}

}  // namespace
}  // namespace oxbow::grammar
