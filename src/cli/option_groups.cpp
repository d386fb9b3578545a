#include "cli/option_groups.h"

#include <fmt/ranges.h>

#include <limits>

#include "kernels/kernels.h"

namespace oxbow::cli {

using kernels::KvType;

void add_model_options(OptionTable& table, ModelOptions& o) {
  table.group("Model");
  table.text("-m,--model", "FILE", "GGUF file (default: OXBOW_MODEL, else the bundled model)",
             [&o](const std::string& text) { o.model = text; });
  table.flag("--allow-unknown", "Go on when the file has settings or tensors that Oxbow does not know",
             [&o](int count) { o.allow_unknown = count > 0; });
}

void add_thread_option(OptionTable& table, ModelOptions& o) {
  table.integer("-t,--threads", "Threads (default: all usable cores)", 1, kMaxThreads, "all usable cores",
                [&o](int64_t n) { o.threads = static_cast<int>(n); });
}

void add_output_options(OptionTable& table, ModelOptions& o) {
  table.choice("--color", "Colours on stderr (also -co; default: auto)", {"auto", "on", "off"}, "auto",
               [&o](size_t i) { o.color = static_cast<ColorChoice>(i); });
  table.flag("-v,--verbose", "Say more; twice: also what helps to find faults",
             [&o](int count) { o.verbosity = count; });
}

void add_memory_options(OptionTable& table, MemoryChoices& o) {
  static constexpr KvType kTypes[] = {KvType::kF16, KvType::kF32};
  table.choice("--cache-type-k", "How keys are stored (also -ctk; default: f16)", {"f16", "f32"}, "f16",
               [&o](size_t i) { o.kv.key = kTypes[i]; });
  table.choice("--cache-type-v", "How values are stored (also -ctv; default: f16)", {"f16", "f32"}, "f16",
               [&o](size_t i) { o.kv.value = kTypes[i]; });
  table.checked(
      "--rewind-bytes", "BYTES", "Log kept for rewinding, such as 64M (default: as much as two states)",
      [](const std::string& text) {
        return parse_size(text)
                   ? std::string()
                   : fmt::format("expected bytes such as 64M (default: two states), \"{}\" was given", text);
      },
      [&o](const std::string& text) { o.rewind_bytes = static_cast<size_t>(*parse_size(text)); }, true);
  table.integer("--cache-ram",
                "MiB for keys, values, states, buffers; 0: a quarter of what is free (-cram; 0)", 0,
                int64_t{1} << 30, "0", [&o](int64_t n) { o.budget_mib = static_cast<size_t>(n); });
}

void add_store_options(OptionTable& table, MemoryChoices& o) {
  table.text("--cache-disk", "DIR", "Keep checkpoints in this folder, so that a restart finds them",
             [&o](const std::string& text) { o.disk_folder = text; });
  table.checked(
      "--cache-disk-size", "BYTES", "Most bytes of that folder, such as 4G (16G)",
      [](const std::string& text) {
        return parse_size(text)
                   ? std::string()
                   : fmt::format("expected bytes such as 4G (default: 16G), \"{}\" was given", text);
      },
      [&o](const std::string& text) { o.disk_bytes = *parse_size(text); }, true);
  table.text("--cache-redis", "HOST:PORT", "Share checkpoints through a Redis or Valkey server",
             [&o](const std::string& text) { o.redis = text; });
  table.text("--cache-redis-key-file", "FILE", "Authenticate what the server holds with the key in this file",
             [&o](const std::string& text) { o.redis_key_file = text; });
}

void add_context_option(OptionTable& table, MemoryChoices& o) {
  table.integer(
      "-c,--ctx-size", "Tokens in the context; 0: the trained length (default: that, if memory allows)", 0,
      kMaxTokens, "the model's trained length as far as memory allows", [&o](int64_t n) { o.context = n; });
}

void add_sampling_options(OptionTable& table, SamplingChoices& o) {
  table.group("Sampling (default: what the model's file recommends, else the number given here)");
  table.real("--temp,--temperature", "Temperature; 0 always takes the most likely token (0.8)", 0, 100,
             "the model's, else 0.8", [&o](double x) { o.temperature = static_cast<float>(x); });
  table.integer("--top-k", "Choose among the N most likely tokens; 0: all (40)", 0, kMaxTokens,
                "the model's, else 40", [&o](int64_t n) { o.top_k = static_cast<size_t>(n); });
  table.real("--top-p", "Choose among the tokens that hold this share of the probability (0.95)", 0, 1,
             "the model's, else 0.95", [&o](double x) { o.top_p = static_cast<float>(x); });
  table.real("--min-p", "Leave out tokens below this share of the best one's probability (0.05)", 0, 1,
             "the model's, else 0.05", [&o](double x) { o.min_p = static_cast<float>(x); });
  table.real("--repeat-penalty", "Make recent tokens less likely; 1: no (1)", 0.01, 100,
             "the model's, else 1", [&o](double x) { o.repeat_penalty = static_cast<float>(x); });
  table.integer("--repeat-last-n", "How many tokens count as recent; -1: all (64)", -1, kMaxTokens,
                "the model's, else 64",
                [&o](int64_t n) { o.repeat_last_n = n < 0 ? SIZE_MAX : static_cast<size_t>(n); });
  table.integer("-s,--seed", "Seed; -1: another one each time (-1)", -1, std::numeric_limits<int64_t>::max(),
                "-1", [&o](int64_t n) { o.seed = n; });
}

void add_prompt_options(OptionTable& table, std::optional<std::string>& prompt,
                        std::optional<std::string>& file) {
  table.text("-p,--prompt", "TEXT", "The prompt", [&prompt](const std::string& text) { prompt = text; });
  table.text("-f,--file", "FILE", "Read the prompt from a file, - for standard input",
             [&file](const std::string& text) { file = text; });
}

void add_template_options(OptionTable& table, ChatChoices& o) {
  table.group("Chat template (default: the model's own)");
  table.text("--chat-template", "TEMPLATE", "Its text (Jinja), or a name: chatml, gemma, llama3, rwkv-world",
             [&o](const std::string& text) { o.chat_template = text; });
  table.text("--chat-template-file", "FILE", "Read it from a file",
             [&o](const std::string& text) { o.template_file = text; });
  table.text("--chat-template-kwargs", "JSON", "Variables for it, such as {\"enable_thinking\": false}",
             [&o](const std::string& text) { o.arguments = text; });
  table.choice("--reasoning",
               "Whether models that can should think first (also -rea; default: the template's way)",
               {"auto", "on", "off"}, "auto",
               [&o](size_t i) { o.think = i == 0 ? std::optional<bool>() : std::optional<bool>(i == 1); });
  table.flag("--think", "The same as --reasoning on", [&o](int) { o.think = true; });
  table.flag("--no-think", "The same as --reasoning off", [&o](int) { o.think = false; });
}

tl::unexpected<Stop> usage_error(const std::string& message) {
  return tl::unexpected<Stop>(Stop{kExitUsage, message});
}

static std::string join_words(const std::vector<std::string>& words, size_t first) {
  return fmt::format("{}", fmt::join(words.begin() + static_cast<ptrdiff_t>(first), words.end(), " "));
}

// The words of a command that takes [FILE] [TEXT]: the first is the model unless -m named one.
Status take_words(const std::vector<std::string>& words, std::string& model,
                  std::optional<std::string>* text) {
  size_t next = 0;
  if (model.empty() && !words.empty()) model = words[next++];
  if (next == words.size()) return {};
  if (text == nullptr) return fail(ErrorKind::kInvalidInput, "\"{}\" is one word too many", words[next]);
  if (text->has_value()) {
    return fail(ErrorKind::kInvalidInput, "there are two prompts: -p and \"{}\"", join_words(words, next));
  }
  *text = join_words(words, next);
  return {};
}

Status check_prompts(const std::optional<std::string>& prompt, const std::optional<std::string>& file) {
  if (prompt && file) return fail(ErrorKind::kInvalidInput, "there are two prompts: a text and -f {}", *file);
  return {};
}

}  // namespace oxbow::cli
