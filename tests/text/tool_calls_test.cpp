#include "text/tool_calls.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "support/shared.h"

namespace oxbow::text {
namespace {

using Json = nlohmann::ordered_json;
using Kind = ToolCallParser::Kind;

const Json& tools() {
  static const Json list = Json::parse(R"([{"type": "function", "function": {"name": "add", "parameters": {
    "type": "object", "properties": {"a": {"type": "integer"}, "s": {"type": "string"}}}}},
    {"name": "go"}])");
  return list;
}

// The events as one line: text, and calls as <name arguments>.
std::string joined(const std::vector<ToolCallParser::Event>& events) {
  std::string line;
  for (const auto& event : events) {
    if (event.kind == Kind::kBegin)
      line += "<" + std::to_string(event.call) + event.text + " ";
    else
      line += event.text;
    if (event.kind == Kind::kEnd) line += ">";
  }
  return line;
}

std::string read(const ToolCallFormat& format, std::string_view answer, size_t piece = std::string::npos) {
  ToolCallParser parser(format, tools());
  std::vector<ToolCallParser::Event> events;
  for (size_t at = 0; at < answer.size(); at += std::min(piece, answer.size() - at))
    parser.push(answer.substr(at, piece), events);
  parser.flush(events);
  return joined(events);
}

ToolCallFormat format_of(const std::string& name) {
  std::ifstream file(testing::source_path("tests/text/templates/" + name + ".jinja"));
  std::stringstream text;
  text << file.rdbuf();
  return find_tool_call_format(text.str());
}

struct Example {
  const char* name;
  ToolCallStyle style;
  const char* answer;
  const char* expected;
};

const Example kExamples[] = {
    {"hermes_tools", ToolCallStyle::kJson,
     "Sure.\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"s\": "
     "\"</tool_call>\"}}\n</tool_call>\n<tool_call>"
     "{\"name\": \"go\"}</tool_call>\n",
     "Sure.<0add {\"s\":\"</tool_call>\"}><1go {}>"},
    {"qwen3", ToolCallStyle::kJson, "<tool_call>{\"name\": \"nosuch\", \"arguments\": {}}</tool_call>",
     "<tool_call>{\"name\": \"nosuch\", \"arguments\": {}}</tool_call>"},
    {"granite4", ToolCallStyle::kJson, "<tool_call>{broken}</tool_call> <tool_call>{\"name\":\"go\"}",
     "<tool_call>{broken}</tool_call><0go {}>"},
    {"qwen35", ToolCallStyle::kXmlParameters,
     "<tool_call>\n<function=add>\n<parameter=a>\n7\n</parameter>\n<parameter=s>\n1\n2\n</parameter>\n</"
     "function>\n"
     "</tool_call>",
     "<0add {\"a\":7,\"s\":\"1\\n2\"}>"},
    {"lfm2", ToolCallStyle::kPython, "a<|tool_call_start|>[add(a=-1, s='x\\'\"'), go()]<|tool_call_end|>b",
     "a<0add {\"a\":-1,\"s\":\"x'\\\"\"}><1go {}>b"},
    {"mistral_v7", ToolCallStyle::kJsonList, "[TOOL_CALLS] [{\"name\": \"add\", \"arguments\": {\"a\": 1}}]",
     "<0add {\"a\":1}>"},
    {"jamba", ToolCallStyle::kJsonList, "<tool_calls>[{\"name\": \"go\", \"arguments\": {}}]</tool_calls>",
     "<0go {}>"},
    {"nemotron_h", ToolCallStyle::kJsonList,
     "<TOOLCALL>[{\"name\": \"go\", \"arguments\": \"{\\\"x\\\": 1}\"}, {\"name\": \"go\"}]</TOOLCALL>",
     "<0go {\"x\":1}><1go {}>"},
    {"llama3", ToolCallStyle::kBareJson, "{\"name\": \"add\", \"parameters\": {\"a\": 1}}",
     "<0add {\"a\":1}>"},
};

TEST(ToolCalls, AreFoundInTheStyleOfEachTemplate) {
  for (const Example& example : kExamples) {
    const ToolCallFormat format = format_of(example.name);
    EXPECT_EQ(format.style, example.style) << example.name;
    EXPECT_EQ(read(format, example.answer), example.expected) << example.name;
  }
}

TEST(ToolCalls, DoNotDependOnTheCut) {
  const std::string mixed =
      "x < <tool <tool_call><tool_call>\n{\"name\": \"go\"}\n</tool_call> \n y\n<tool_call>{\"name\": "
      "</tool_call>z \n<tool_call>";
  for (const Example& example : kExamples) {
    const ToolCallFormat format = format_of(example.name);
    for (const std::string& answer :
         {std::string(example.answer), mixed, " {" + mixed + "}", std::string(" \n ")}) {
      const std::string whole = read(format, answer);
      for (size_t piece = 1; piece < 9; ++piece) EXPECT_EQ(read(format, answer, piece), whole) << answer;
    }
  }
}

TEST(ToolCalls, TextWithoutCallsStaysAsItIs) {
  for (const Example& example : kExamples) {
    const ToolCallFormat format = format_of(example.name);
    for (const char* text : {"", " ", "plain\n\n", "a < b <tool", "{\"x\": 1}", "[go()]"})
      EXPECT_EQ(read(format, text), text);
  }
  EXPECT_EQ(read({}, "<tool_call>{\"name\":\"go\"}</tool_call>"), "<tool_call>{\"name\":\"go\"}</tool_call>");
}

TEST(ToolCalls, DeepArgumentsAreText) {
  const std::string deep = "<tool_call>{\"name\":\"go\",\"arguments\":{\"x\":" + std::string(100'000, '[') +
                           std::string(100'000, ']') + "}}</tool_call>";
  EXPECT_EQ(read(format_of("qwen3"), deep), deep);
}

}  // namespace
}  // namespace oxbow::text
