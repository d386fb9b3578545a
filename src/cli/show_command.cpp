#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/cpu.h"
#include "cli/commands.h"
#include "cli/escape.h"
#include "cli/layer_map.h"
#include "cli/loading.h"
#include "cli/memory_report.h"
#include "cli/report.h"
#include "cli/statistics.h"
#include "engine/default_budget.h"
#include "kernels/kernels.h"
#include "text/chat_format.h"

namespace oxbow::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TypeShare {
  size_t tensors = 0;
  uint64_t bytes = 0;
};

// What is asked about, and the answers that both outputs need.
struct Subject {
  const ShowOptions& options;
  const model::Model& model;
  const memory::Memory& memory;
  const text::Tokenizer* tokenizer;  // null: the file has none
  std::string tokenizer_problem;
  std::vector<std::string> letters;
  std::map<std::string_view, TypeShare> types;

  const gguf::File& file() const { return model.file(); }
  const memory::MemoryLayout& layout() const { return memory.layout(); }
  // Two states: the working one and a base.
  size_t sequence_bytes() const {
    return 2 * layout().state_bytes() + memory.reach_rows() * layout().row_bytes();
  }
  size_t context() const {
    return options.memory.context > 0 ? static_cast<size_t>(options.memory.context) : model.context_length();
  }
};

std::string text_of(const gguf::File& file, std::string_view key) {
  const auto value = file.find_string(key);
  return value && *value ? std::string(**value) : std::string();
}

std::string kind_of(const model::Model& model) {
  if (model.is_hybrid()) return "hybrid: it keeps keys and values, and recurrent states";
  return model.is_recurrent() ? "recurrent: it keeps states only" : "attention only";
}

std::string_view kv_name(kernels::KvType type) {
  return type == kernels::KvType::kF32 ? "f32" : "f16";
}

std::string_view tokenizer_kind(const text::Vocabulary& vocabulary) {
  return vocabulary.model() == text::TokenizerModel::kByteLevelBpe ? "byte-level BPE" : "SentencePiece BPE";
}

std::string describe_token(const text::Vocabulary& vocabulary, TokenId id) {
  return fmt::format("{} {}", id, quoted(vocabulary.token_text(id)));
}

std::string describe_tokenizer(const Subject& s) {
  if (s.tokenizer == nullptr) return fmt::format("none ({})", s.tokenizer_problem);
  const text::Vocabulary& v = s.tokenizer->vocabulary();
  std::string text = fmt::format("{}, {} tokens", tokenizer_kind(v), format_count(v.size()));
  if (v.model() == text::TokenizerModel::kByteLevelBpe)
    text += fmt::format(", split like {}", v.pre_tokenizer().name);
  if (v.bos())
    text += fmt::format("; begin {}{}", describe_token(v, *v.bos()), v.add_bos() ? "" : " (not added)");
  std::vector<std::string> ends;
  for (const TokenId id : v.end_of_generation()) ends.push_back(describe_token(v, id));
  if (!ends.empty()) text += fmt::format("; end {}", fmt::join(ends, ", "));
  return text;
}

std::string describe_chat(const Subject& s) {
  if (s.tokenizer == nullptr) return "none";
  const auto source = text::find_chat_template(s.file());
  if (!source) {
    return text::has_chatml_tokens(s.tokenizer->vocabulary()) ? "ChatML, without a template in the file"
                                                              : "none: it completes text";
  }
  if (const auto parsed = text::ChatTemplate::parse(*source); !parsed)
    return fmt::format("a template that cannot be used ({})", parsed.error().message);
  std::string text = "a template";
  if (source->find("<|im_start|>") != std::string::npos) text += " (ChatML)";
  const auto names = text::chat_template_names(s.file());
  if (!names.empty()) text += fmt::format(", and by name: {}", fmt::join(names, ", "));
  return text;
}

class Lines {
 public:
  void add(std::string_view name, const std::string& value) {
    text_ += fmt::format("{:<15} {}\n", name, value);
  }
  void blank() { text_ += '\n'; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_memory(const Subject& s, Lines& lines) {
  const memory::MemoryLayout& layout = s.layout();
  lines.add("keys, values",
            fmt::format("{} and {}", kv_name(layout.types().key), kv_name(layout.types().value)));
  std::string per_token = format_bytes(layout.kv_bytes_per_token());
  for (const memory::KvGroup& group : layout.groups()) {
    if (group.window_tokens == 0) continue;
    per_token += fmt::format(", of which {} for the last {} tokens only",
                             format_bytes(group.page_bytes / memory::kPagePositions), group.window_tokens);
  }
  lines.add("a token", per_token);
  if (layout.has_recurrent()) {
    lines.add("a state", format_bytes(layout.state_bytes()));
    lines.add("a log row", fmt::format("{} a token", format_bytes(layout.row_bytes())));
    lines.add("reach",
              fmt::format("{} to {} tokens can be taken back without evaluating the model (--rewind-bytes)",
                          format_count(s.memory.reach_rows() / 2), format_count(s.memory.reach_rows())));
    lines.add("a sequence",
              fmt::format("{} (two states and the log), and its tokens", format_bytes(s.sequence_bytes())));
  }
  lines.add("a full context",
            fmt::format("{} for {} tokens",
                        format_bytes(s.sequence_bytes() + s.context() * layout.kv_bytes_per_token()),
                        format_count(s.context())));
}

std::string as_text(const Subject& s) {
  const LayerMap map = make_layer_map(s.letters);
  Lines lines;
  lines.add("file", fmt::format("{} ({}, GGUF v{})", s.file().path(), format_bytes(s.file().size_bytes()),
                                s.file().version()));
  if (const std::string name = text_of(s.file(), "general.name"); !name.empty())
    lines.add("name", without_controls(name));
  lines.add("architecture", fmt::format("{} ({})", s.model.architecture(), kind_of(s.model)));
  lines.add("parameters", format_count(s.model.parameter_count()));
  std::vector<std::string> types;
  for (const auto& [type, share] : s.types) {
    types.push_back(fmt::format("{} in {} tensor{}, {}", type, share.tensors, share.tensors == 1 ? "" : "s",
                                format_bytes(share.bytes)));
  }
  lines.add("tensors", fmt::format("{}", fmt::join(types, "; ")));
  lines.add("in memory", fmt::format("{} of packed weights", format_bytes(s.model.weight_bytes())));
  lines.add("width", format_count(s.model.embedding()));
  lines.add("vocabulary", format_count(s.model.vocabulary()));
  lines.add("context", fmt::format("{} tokens in training", format_count(s.model.context_length())));
  lines.add("tokenizer", describe_tokenizer(s));
  lines.add("chat format", describe_chat(s));
  lines.add("layers", map.summary);
  for (size_t i = 0; i < map.rows.size(); ++i) lines.add(i == 0 ? "layer map" : "", map.rows[i]);
  lines.blank();
  add_memory(s, lines);
  lines.blank();
  lines.add("kernels", fmt::format("{}, {} threads", kernels::kernels().name, usable_cores()));
  return lines.take();
}

std::string as_json(const Subject& s) {
  const memory::MemoryLayout& layout = s.layout();
  Json json;
  json["file"] = s.file().path();
  json["file_bytes"] = s.file().size_bytes();
  json["gguf_version"] = s.file().version();
  json["name"] = text_of(s.file(), "general.name");
  json["architecture"] = s.model.architecture();
  json["hybrid"] = s.model.is_hybrid();
  json["recurrent"] = s.model.is_recurrent();
  json["parameters"] = s.model.parameter_count();
  json["weight_bytes"] = s.model.weight_bytes();
  json["embedding"] = s.model.embedding();
  json["vocabulary"] = s.model.vocabulary();
  json["context_length"] = s.model.context_length();
  json["layers"] = s.letters;
  Json types = Json::object();
  for (const auto& [type, share] : s.types)
    types[std::string(type)] = {{"tensors", share.tensors}, {"bytes", share.bytes}};
  json["tensor_types"] = types;
  if (s.tokenizer != nullptr) {
    const text::Vocabulary& v = s.tokenizer->vocabulary();
    Json& tokenizer = json["tokenizer"];
    tokenizer["kind"] = tokenizer_kind(v);
    tokenizer["tokens"] = v.size();
    tokenizer["bos"] = v.bos() ? Json(*v.bos()) : Json();
    tokenizer["add_bos"] = v.add_bos();
    tokenizer["end_of_generation"] =
        std::vector<TokenId>(v.end_of_generation().begin(), v.end_of_generation().end());
  } else {
    json["tokenizer"] = nullptr;
  }
  Json& memory = json["memory"];
  memory["key_type"] = kv_name(layout.types().key);
  memory["value_type"] = kv_name(layout.types().value);
  memory["token_bytes"] = layout.kv_bytes_per_token();
  memory["state_bytes"] = layout.state_bytes();
  memory["row_bytes"] = layout.row_bytes();
  memory["reach_rows"] = s.memory.reach_rows();
  memory["sequence_bytes"] = s.sequence_bytes();
  memory["context_tokens"] = s.context();
  memory.update(to_json(footprint_of(s.model, s.memory, s.context())));
  json["kernels"] = kernels::kernels().name;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

int show_command(const ShowOptions& options, Console& console) {
  auto file = open_model_file(options.common);
  if (!file) return report(console, file.error());
  auto model = load_model(*file, options.common, Weights::kShapesOnly, console);
  if (!model) return report(console, model.error());
  auto tokenizer = load_tokenizer(**file);
  const size_t given = budget_bytes(options.memory);
  const size_t budget = given > 0 ? given : engine::default_budget_bytes();
  const memory::Memory memory((*model)->state_specs(),
                              {budget, options.memory.rewind_bytes, options.memory.kv});
  Subject subject{options,
                  **model,
                  memory,
                  tokenizer ? tokenizer->get() : nullptr,
                  tokenizer ? std::string() : tokenizer.error().message,
                  {},
                  {}};
  for (size_t i = 0; i < (*model)->layer_count(); ++i) subject.letters.push_back((*model)->layer_letters(i));
  for (const gguf::Tensor& tensor : (*file)->tensors()) {
    TypeShare& share = subject.types[gguf::tensor_type_info(tensor.type).name];
    ++share.tensors;
    share.bytes += tensor.data.size();
  }
  if (options.json) return print(console, as_json(subject));
  if (options.draw_memory)
    return print(console, draw(footprint_of(subject.model, subject.memory, subject.context())));
  return print(console, as_text(subject));
}

}  // namespace oxbow::cli
