#pragma once
// Chat templates: messages in, prompt text out. docs/formats/chat-templates.md says what templates may use
// and where they come from. What most callers want is render_chat() and encode_chat() of text/chat_prompt.h.

#include <ctime>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "gguf/file.h"
#include "text/jinja/limits.h"

namespace oxbow::text {

// What a template sees. All pointers may be null and must live through the call.
struct ChatTemplateInput {
  // Array of objects with role, content (a string, or parts), tool_calls, reasoning_content, ... The members
  // go to the template as they are.
  const nlohmann::ordered_json* messages = nullptr;
  const nlohmann::ordered_json* tools = nullptr;      // array of function descriptions; null: `tools` is none
  const nlohmann::ordered_json* documents = nullptr;  // null: `documents` is none
  // Object whose members become variables (enable_thinking, ...); they win over everything above.
  const nlohmann::ordered_json* arguments = nullptr;
  bool add_generation_prompt = true;
  std::string_view bos_token, eos_token;  // texts of the tokens; empty where the vocabulary has none
  std::optional<std::tm> now;             // for strftime_now(); default: the local time
  // Changes every string of messages, tools and documents, names of members included, before the template
  // sees it; empty: they stay. of_assistant: it belongs to a message whose role is "assistant".
  std::function<std::string(std::string_view text, bool of_assistant)> mark;
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

  // Whether the source mentions a variable of this name: a template without it does not care for its value.
  bool mentions(std::string_view variable) const;

 private:
  struct Program;
  explicit ChatTemplate(std::unique_ptr<const Program> program);
  std::unique_ptr<const Program> program_;
};

// The template text of a model file: `tokenizer.chat_template`, or with a name that of
// `tokenizer.chat_template.NAME`. A file may name a built-in template instead of carrying a text. Nothing
// when there is none; a key of another type counts as none.
std::optional<std::string> find_chat_template(const gguf::File& file, std::string_view name = {});
// The NAMEs, in the order of the file.
std::vector<std::string> chat_template_names(const gguf::File& file);

// Templates that need no file: "chatml" and a few more. Null when there is none of that name.
const char* builtin_chat_template(std::string_view name);
std::vector<std::string> builtin_chat_template_names();

}  // namespace oxbow::text
