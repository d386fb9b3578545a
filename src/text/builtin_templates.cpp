#include <algorithm>
#include <iterator>

#include "text/chat_template.h"

namespace oxbow::text {

namespace {

struct BuiltinTemplate {
  std::string_view name;
  const char* text;
};

constexpr BuiltinTemplate kTemplates[] = {
    {"chatml",
     "{%- for message in messages -%}\n"
     "{{- '<|im_start|>' + message.role + '\\n' + (message.content if message.content is string else '') +"
     " '<|im_end|>\\n' -}}\n"
     "{%- endfor -%}\n"
     "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}\n"},
    {"gemma",
     "{{- bos_token -}}\n"
     "{%- set ns = namespace(system='') -%}\n"
     "{%- for message in messages -%}\n"
     "{%- if message.role == 'system' -%}{%- set ns.system = message.content | trim + '\\n\\n' -%}{%- else "
     "-%}\n"
     "{{- '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\\n' -}}\n"
     "{{- ns.system + message.content | trim + '<end_of_turn>\\n' -}}\n"
     "{%- set ns.system = '' -%}\n"
     "{%- endif -%}\n"
     "{%- endfor -%}\n"
     "{%- if add_generation_prompt -%}{{- '<start_of_turn>model\\n' -}}{%- endif -%}\n"},
    {"llama3",
     "{{- bos_token -}}\n"
     "{%- for message in messages -%}\n"
     "{{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content | trim +"
     " '<|eot_id|>' -}}\n"
     "{%- endfor -%}\n"
     "{%- if add_generation_prompt -%}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}"
     "{%- endif -%}\n"},
    {"rwkv-world",
     "{%- for message in messages -%}\n"
     "{{- {'user': 'User: ', 'assistant': 'Assistant: '}.get(message.role, '') + message.content | trim +"
     " '\\n\\n' -}}\n"
     "{%- endfor -%}\n"
     "{%- if add_generation_prompt -%}{{- 'Assistant:' -}}{%- endif -%}\n"},
};

constexpr std::string_view kKey = "tokenizer.chat_template";

}  // namespace

const char* builtin_chat_template(std::string_view name) {
  const auto* found = std::ranges::find(kTemplates, name, &BuiltinTemplate::name);
  return found != std::end(kTemplates) ? found->text : nullptr;
}

std::vector<std::string> builtin_chat_template_names() {
  std::vector<std::string> names;
  for (const BuiltinTemplate& known : kTemplates) names.emplace_back(known.name);
  return names;
}

std::optional<std::string> find_chat_template(const gguf::File& file, std::string_view name) {
  const std::string key = name.empty() ? std::string(kKey) : fmt::format("{}.{}", kKey, name);
  const auto found = file.find_string(key);
  if (!found || !*found) return std::nullopt;
  const char* builtin = builtin_chat_template(**found);
  return builtin != nullptr ? std::string(builtin) : std::string(**found);
}

std::vector<std::string> chat_template_names(const gguf::File& file) {
  std::vector<std::string> names;
  for (const auto& [key, value] : file.metadata()) {
    if (key.size() > kKey.size() + 1 && key.starts_with(kKey) && key[kKey.size()] == '.' &&
        value.type == gguf::ValueType::kString)
      names.push_back(key.substr(kKey.size() + 1));
  }
  return names;
}

}  // namespace oxbow::text
