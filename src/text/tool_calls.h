#pragma once
// Calls of tools in answers: the styles in which the families write them, and a reader that takes them out of
// an answer while it arrives.

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oxbow::text {

enum class ToolCallStyle {
  kNone,           // the template writes no calls
  kJson,           // one JSON object per call between marks: <tool_call>{...}</tool_call>
  kJsonList,       // a JSON list of calls behind a mark: <TOOLCALL>[...]</TOOLCALL>, [TOOL_CALLS] [...]
  kBareJson,       // the whole answer is one JSON object
  kXmlParameters,  // <tool_call><function=NAME><parameter=KEY>VALUE</parameter>...</function></tool_call>
  kPython,         // a list of Python calls: <|tool_call_start|>[f(x=1)]<|tool_call_end|>
};

// How one template writes calls.
struct ToolCallFormat {
  ToolCallStyle style = ToolCallStyle::kNone;
  std::string open, close;              // marks around calls; no close: calls go to the end of the answer
  std::string arguments = "arguments";  // the member that holds the arguments ("parameters" of Llama 3)
};

// Found in the text of a chat template. A template that speaks of tools in none of these styles gets
// <tool_call> with JSON; one that does not speak of tools gets kNone.
ToolCallFormat find_tool_call_format(std::string_view chat_template);

// Takes the calls out of one answer. What comes out, texts in a row joined, does not depend on how the answer
// was cut. A call comes when it is whole: kBegin, kArguments, kEnd. What looks like one and is none (no JSON,
// a name that the tools lack, an end within) comes back as text. Blank space around calls goes.
class ToolCallParser {
 public:
  enum class Kind {
    kText,       // text outside of calls
    kBegin,      // a call begins: text is its name
    kArguments,  // its arguments, a JSON object
    kEnd,
  };
  struct Event {
    Kind kind;
    std::string text;
    size_t call = 0;  // from 0 on
  };

  // tools: the request's list of function descriptions; which names exist, and which parameters are strings
  // where values have no quotes. None: any name is good.
  ToolCallParser(ToolCallFormat format, nlohmann::ordered_json tools);

  void push(std::string_view text, std::vector<Event>& out);
  // The end of the answer: what was held back.
  void flush(std::vector<Event>& out);

  // Whether a control token with this text belongs to calls, so that its text must be pushed too.
  bool is_mark(std::string_view token_text) const;
  size_t calls() const { return calls_; }

 private:
  struct Call {
    std::string name, arguments;
  };
  using Calls = std::optional<std::vector<Call>>;

  bool find_call(bool at_end, std::vector<Event>& out);
  bool read_call(bool at_end, std::vector<Event>& out);
  void give_text(size_t bytes, std::vector<Event>& out);
  void give_calls(const std::vector<Call>& calls, std::vector<Event>& out);
  Calls parse(std::string_view block) const;
  Calls parse_json(std::string_view block) const;
  Calls parse_xml(std::string_view block) const;
  Calls parse_python(std::string_view block) const;
  bool is_known(const std::string& name) const;
  bool takes_string(const std::string& tool, const std::string& parameter) const;
  bool is_within_quotes(std::string_view block) const;

  ToolCallFormat format_;
  nlohmann::ordered_json tools_;
  std::string held_;  // not decided yet; within a call from its opening mark on
  bool in_call_ = false;
  bool any_text_ = false;    // some text that is not blank was seen
  bool after_call_ = false;  // blank space is dropped
  size_t searched_ = 0;      // bytes of held_ without a closing mark that counts
  size_t calls_ = 0;
};

// The function of a description: {"type": "function", "function": {...}} or the function itself.
const nlohmann::ordered_json& tool_function(const nlohmann::ordered_json& tool);

}  // namespace oxbow::text
