#pragma once
// The chat template of a model file (`tokenizer.chat_template`): messages in, prompt text out.
// See docs/formats/chat-templates.md for what templates may use.

#include <ctime>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "text/jinja/limits.h"

namespace oxbow::text {

// What a template sees. All pointers may be null and must live through the call.
struct ChatTemplateInput {
  const nlohmann::ordered_json* messages = nullptr;   // array of objects with role, content, tool_calls, ...
  const nlohmann::ordered_json* tools = nullptr;      // array of function descriptions; null: `tools` is none
  const nlohmann::ordered_json* documents = nullptr;  // null: `documents` is none
  // Object whose members become variables (enable_thinking, ...); they win over everything above.
  const nlohmann::ordered_json* arguments = nullptr;
  bool add_generation_prompt = true;
  std::string_view bos_token, eos_token;  // texts of the tokens; empty where the vocabulary has none
  std::optional<std::tm> now;             // for strftime_now(); default: the local time
};

// A parsed template. Immutable: render() may run on any number of threads at once.
class ChatTemplate {
 public:
  // Templates are untrusted: see jinja::Limits. Errors: kInvalidInput (syntax, with the line), kUnsupported,
  // kOutOfBudget.
  static Result<ChatTemplate> parse(std::string_view source, const jinja::Limits& limits = {});
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // The prompt, as UTF-8. Errors: kInvalidInput for what the template refuses (raise_exception() included)
  // and for faults in the template, with the line; kOutOfBudget.
  Result<std::string> render(const ChatTemplateInput& input) const;

 private:
  struct Program;
  explicit ChatTemplate(std::unique_ptr<const Program> program);
  std::unique_ptr<const Program> program_;
};

}  // namespace oxbow::text
