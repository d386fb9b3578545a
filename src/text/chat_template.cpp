#include "text/chat_template.h"

#include <nlohmann/json.hpp>

#include "text/jinja/interpreter.h"
#include "text/jinja/json.h"
#include "text/jinja/parser.h"

namespace oxbow::text {

struct ChatTemplate::Program {
  std::string source;
  jinja::Limits limits;
  jinja::Block statements;
};

namespace {

using nlohmann::ordered_json;

// The variables of one rendering.
class Variables {
 public:
  Variables(jinja::Heap& heap, const ChatTemplateInput& input) : heap_(heap), input_(input) {}

  Result<std::vector<std::pair<std::string, jinja::Value>>> make() {
    OXBOW_TRY(add_messages());
    OXBOW_TRY(add_json("tools", input_.tools, mark(false)));
    OXBOW_TRY(add_json("documents", input_.documents, mark(false)));
    variables_.emplace_back("add_generation_prompt", input_.add_generation_prompt);
    OXBOW_TRY(add_text("bos_token", input_.bos_token));
    OXBOW_TRY(add_text("eos_token", input_.eos_token));
    if (input_.arguments == nullptr) return std::move(variables_);
    if (!input_.arguments->is_object())
      return fail(ErrorKind::kInvalidInput, "template arguments must be an object");
    for (const auto& [name, value] : input_.arguments->items()) OXBOW_TRY(add_json(name, &value, {}));
    return std::move(variables_);
  }

 private:
  jinja::StringMap mark(bool of_assistant) const {
    if (!input_.mark) return {};
    return [this, of_assistant](std::string_view text) { return input_.mark(text, of_assistant); };
  }

  Status add_json(std::string_view name, const ordered_json* json, const jinja::StringMap& map) {
    jinja::Value value = jinja::None{};
    if (json != nullptr) {
      OXBOW_ASSIGN(value, jinja::from_json(heap_, *json, map));
    }
    variables_.emplace_back(name, std::move(value));
    return {};
  }

  // One by one, because the mark depends on the role.
  Status add_messages() {
    if (input_.messages == nullptr || !input_.messages->is_array())
      return add_json("messages", input_.messages, mark(false));
    std::vector<jinja::Value> messages;
    for (const ordered_json& message : *input_.messages) {
      const auto role = message.is_object() ? message.find("role") : message.end();
      OXBOW_ASSIGN(jinja::Value value,
                   jinja::from_json(heap_, message, mark(role != message.end() && *role == "assistant")));
      messages.push_back(std::move(value));
    }
    OXBOW_ASSIGN(jinja::Value list, heap_.list(std::move(messages)));
    variables_.emplace_back("messages", std::move(list));
    return {};
  }

  Status add_text(std::string_view name, std::string_view text) {
    const ordered_json json = std::string(text);
    return add_json(name, &json, {});
  }

  jinja::Heap& heap_;
  const ChatTemplateInput& input_;
  std::vector<std::pair<std::string, jinja::Value>> variables_;
};

std::tm local_time() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return parts;
}

tl::unexpected<Error> in_template(const Error& error) {
  return fail(error.kind, "chat template: {}", error.message);
}

}  // namespace

ChatTemplate::ChatTemplate(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, const jinja::Limits& limits) {
  auto statements = jinja::parse(source, limits);
  if (!statements) return in_template(statements.error());
  return ChatTemplate(
      std::make_unique<const Program>(Program{std::string(source), limits, std::move(*statements)}));
}

Result<std::string> ChatTemplate::render(const ChatTemplateInput& input) const {
  jinja::Heap heap(program_->limits);
  auto variables = Variables(heap, input).make();
  if (!variables) return in_template(variables.error());
  auto text =
      jinja::render(program_->statements, heap, std::move(*variables), input.now.value_or(local_time()));
  if (!text) return in_template(text.error());
  return text;
}

bool ChatTemplate::mentions(std::string_view variable) const {
  const std::string& source = program_->source;
  const auto inside = [&](size_t at) {
    const char c = at < source.size() ? source[at] : ' ';
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (size_t at = 0; (at = source.find(variable, at)) != std::string::npos; ++at)
    if ((at == 0 || !inside(at - 1)) && !inside(at + variable.size())) return true;
  return false;
}

}  // namespace oxbow::text
