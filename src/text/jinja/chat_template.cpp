#include "text/jinja/chat_template.h"

#include <nlohmann/json.hpp>

#include "text/jinja/interpreter.h"
#include "text/jinja/json.h"
#include "text/jinja/parser.h"
#include "text/unicode.h"

namespace oxbow::text {

struct ChatTemplate::Program {
  jinja::Limits limits;
  jinja::Block statements;
};

namespace {

using Variables = std::vector<std::pair<std::string, jinja::Value>>;

Status add_json(jinja::Heap& heap, Variables& variables, std::string_view name,
                const nlohmann::ordered_json* json) {
  jinja::Value value = jinja::None{};
  if (json != nullptr) {
    OXBOW_ASSIGN(value, jinja::from_json(heap, *json));
  }
  variables.emplace_back(name, std::move(value));
  return {};
}

Result<Variables> variables_of(jinja::Heap& heap, const ChatTemplateInput& input) {
  Variables variables;
  OXBOW_TRY(add_json(heap, variables, "messages", input.messages));
  OXBOW_TRY(add_json(heap, variables, "tools", input.tools));
  OXBOW_TRY(add_json(heap, variables, "documents", input.documents));
  variables.emplace_back("add_generation_prompt", input.add_generation_prompt);
  for (const auto& [name, text] :
       {std::pair("bos_token", input.bos_token), std::pair("eos_token", input.eos_token)}) {
    const nlohmann::ordered_json json = std::string(text);
    OXBOW_TRY(add_json(heap, variables, name, &json));
  }
  if (input.arguments == nullptr) return variables;
  if (!input.arguments->is_object())
    return fail(ErrorKind::kInvalidInput, "template arguments must be an object");
  for (const auto& [name, value] : input.arguments->items())
    OXBOW_TRY(add_json(heap, variables, name, &value));
  return variables;
}

std::tm local_time() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

ChatTemplate::ChatTemplate(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, const jinja::Limits& limits) {
  auto statements = jinja::parse(source, limits);
  if (!statements) return fail(statements.error().kind, "chat template: {}", statements.error().message);
  return ChatTemplate(std::make_unique<const Program>(Program{limits, std::move(*statements)}));
}

Result<std::string> ChatTemplate::render(const ChatTemplateInput& input) const {
  jinja::Heap heap(program_->limits);
  auto variables = variables_of(heap, input);
  if (!variables) return fail(variables.error().kind, "chat template: {}", variables.error().message);
  auto text =
      jinja::render(program_->statements, heap, std::move(*variables), input.now.value_or(local_time()));
  if (!text) return fail(text.error().kind, "chat template: {}", text.error().message);
  return text;
}

}  // namespace oxbow::text
