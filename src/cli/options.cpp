#include "cli/options.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <limits>

#include "cli/arguments.h"
#include "cli/exit_code.h"
#include "cli/option_table.h"
#include "kernels/kernels.h"

namespace oxbow::cli {
namespace {

using kernels::KvType;

constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kMaxTokens = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxStepTokens = 1 << 16;

const std::vector<std::string> kCommands = {"run", "show", "tokenize", "logits", "help"};

constexpr const char* kUsage =
    "Oxbow runs hybrid language models from GGUF files on the CPU.\n"
    "\n"
    "Usage: oxbow COMMAND [OPTIONS]\n"
    "\n"
    "  run [FILE] [PROMPT]     answer a prompt, or chat when there is none\n"
    "  show [FILE]             what a model is and what it needs in memory\n"
    "  tokenize [FILE] [TEXT]  the tokens of a text\n"
    "  logits [FILE]           the logits of given tokens as a NumPy file\n"
    "\n"
    "Without a command, options are those of run: oxbow -m FILE -p TEXT.\n"
    "oxbow COMMAND --help lists the options of a command; oxbow --version says which Oxbow this is.\n"
    "Without a model, the bundled one is used.\n";

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

void add_chat_options(OptionTable& table, RunOptions& o) {
  table.group("Chat template (default: the model's own)");
  table.text("--chat-template", "TEMPLATE", "Its text (Jinja), or a name: chatml, gemma, llama3, rwkv-world",
             [&o](const std::string& text) { o.chat.chat_template = text; });
  table.text("--chat-template-file", "FILE", "Read it from a file",
             [&o](const std::string& text) { o.chat.template_file = text; });
  table.text("--chat-template-kwargs", "JSON", "Variables for it, such as {\"enable_thinking\": false}",
             [&o](const std::string& text) { o.chat.arguments = text; });
  table.choice(
      "--reasoning", "Whether models that can should think first (also -rea; default: the template's way)",
      {"auto", "on", "off"}, "auto",
      [&o](size_t i) { o.chat.think = i == 0 ? std::optional<bool>() : std::optional<bool>(i == 1); });
  table.flag("--think", "The same as --reasoning on", [&o](int) { o.chat.think = true; });
  table.flag("--no-think", "The same as --reasoning off", [&o](int) { o.chat.think = false; });
  table.flag("--hide-thinking", "Do not show what the model thinks before it answers",
             [&o](int) { o.hide_thinking = true; });
}

tl::unexpected<Stop> usage_error(const std::string& message) {
  return tl::unexpected<Stop>(Stop{kExitUsage, message});
}

std::string join_words(const std::vector<std::string>& words, size_t first) {
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

// Parses and, unless help was asked for, finishes the options with the words.
template <typename Options, typename Finish>
tl::expected<Command, Stop> finish(OptionTable& table, std::span<const std::string> arguments,
                                   Options& options, Finish finish_options) {
  auto words = table.parse(arguments);
  if (!words) return usage_error(words.error().message);
  if (!*words) return tl::unexpected<Stop>(Stop{kExitOk, table.help()});
  if (Status status = finish_options(**words); !status) return usage_error(status.error().message);
  return Command(std::move(options));
}

tl::expected<Command, Stop> parse_run(std::span<const std::string> arguments) {
  RunOptions o;
  OptionTable table("oxbow run [FILE] [PROMPT]", "Answers a prompt, or chats when there is none.");
  add_model_options(table, o.common);
  table.integer("--gpu-layers,--n-gpu-layers", "Ignored: Oxbow runs on the CPU (also -ngl)", -1, kMaxTokens,
                "0", [&o](int64_t n) { o.gpu_layers_given = n != 0; });
  table.group("Prompt and answer");
  add_prompt_options(table, o.prompt, o.prompt_file);
  table.text("--system-prompt", "TEXT", "The system message of a chat (also -sys)",
             [&o](const std::string& text) { o.system = text; });
  table.text("--system-prompt-file", "FILE", "Read it from a file (also -sysf)",
             [&o](const std::string& text) { o.system_file = text; });
  table.integer("-n,--predict,--n-predict", "Tokens to generate at most (-1: until the end, the default)", -1,
                kMaxTokens, "-1", [&o](int64_t n) { o.predict = n; });
  table.text("--session", "FILE", "Go on where FILE stopped; written after every answer",
             [&o](const std::string& text) { o.session_file = text; });
  table.flag("--raw,--no-conversation", "Complete the text as it is, without a chat format (also -no-cnv)",
             [&o](int) { o.raw = true; });
  table.flag("--conversation", "Go on with a chat after the prompt's answer (also -cnv)",
             [&o](int) { o.conversation = true; });
  table.flag("--single-turn", "End the chat after one answer (also -st)",
             [&o](int) { o.single_turn = true; });
  table.flag("--ignore-eos", "Do not stop where the model wants to end", [&o](int) { o.ignore_eos = true; });
  add_chat_options(table, o);
  add_sampling_options(table, o.sampling);
  table.group("Memory and speed");
  add_context_option(table, o.memory);
  add_memory_options(table, o.memory);
  add_store_options(table, o.memory);
  add_thread_option(table, o.common);
  table.integer("-b,--batch-size,--ubatch-size",
                "Prompt tokens that are computed together (also -ub; default: 512)", 1, kMaxStepTokens, "512",
                [&o](int64_t n) { o.batch_tokens = static_cast<size_t>(n); });
  table.integer("--threads-batch", "Ignored: -t counts for everything (also -tb)", 1, kMaxThreads, "-t",
                [](int64_t) {});
  table.group("Output");
  table.flag("--json", "One JSON object at the end instead of the text", [&o](int) { o.json = true; });
  table.flag("--no-history", "Do not keep what is typed in the history file",
             [&o](int) { o.history = false; });
  table.flag("--no-display-prompt,--jinja", "Accepted, without effect", [](int) {});
  add_output_options(table, o.common);
  table.footer(
      "Examples:\n  oxbow run                                 chat with the bundled model\n"
      "  oxbow run model.gguf \"Why is the sky blue?\"\n"
      "  oxbow run -m model.gguf --raw -p \"Once upon a time\" -n 64\n"
      "  oxbow run -m model.gguf < question.txt\n\n"
      "Settings are also read from the environment: OXBOW_ and the long name, such as OXBOW_CTX_SIZE=4096.");
  return finish(table, arguments, o, [&o](const std::vector<std::string>& words) -> Status {
    OXBOW_TRY(take_words(words, o.common.model, &o.prompt));
    OXBOW_TRY(check_prompts(o.prompt, o.prompt_file));
    if (!o.system.empty() && o.system_file)
      return fail(ErrorKind::kInvalidInput, "there are two system prompts: -sys and -sysf");
    if (o.chat.chat_template && o.chat.template_file)
      return fail(ErrorKind::kInvalidInput,
                  "there are two chat templates: --chat-template and --chat-template-file");
    if (o.raw && (o.chat.chat_template || o.chat.template_file))
      return fail(ErrorKind::kInvalidInput, "--raw completes plain text, without a chat template");
    if (o.raw && !o.session_file.empty())
      return fail(ErrorKind::kInvalidInput, "--raw completes plain text, --session keeps a conversation");
    if (o.json && !o.session_file.empty())
      return fail(ErrorKind::kInvalidInput, "--json and --session exclude each other");
    if (o.raw && o.conversation)
      return fail(ErrorKind::kInvalidInput, "--raw and --conversation exclude each other");
    if (o.raw && (!o.system.empty() || o.system_file)) {
      return fail(ErrorKind::kInvalidInput,
                  "--raw completes plain text, which has no system message: put it into the prompt");
    }
    return {};
  });
}

tl::expected<Command, Stop> parse_show(std::span<const std::string> arguments) {
  ShowOptions o;
  OptionTable table("oxbow show [FILE]", "Says what a model is and what it needs in memory.");
  add_model_options(table, o.common);
  table.group("Memory");
  add_context_option(table, o.memory);
  add_memory_options(table, o.memory);
  table.group("Output");
  table.flag("--memory", "Draw what it keeps in memory: by layers, by length, and what the budget buys",
             [&o](int) { o.draw_memory = true; });
  table.flag("--json", "The same as one JSON object", [&o](int) { o.json = true; });
  add_output_options(table, o.common);
  return finish(table, arguments, o, [&o](const std::vector<std::string>& words) {
    return take_words(words, o.common.model, nullptr);
  });
}

tl::expected<Command, Stop> parse_tokenize(std::span<const std::string> arguments) {
  TokenizeOptions o;
  OptionTable table("oxbow tokenize [FILE] [TEXT]",
                    "Prints the tokens of a text, one a line: number and text.");
  add_model_options(table, o.common);
  table.group("Text");
  add_prompt_options(table, o.prompt, o.prompt_file);
  table.flag("--no-bos", "Without the begin and end tokens that the model asks for",
             [&o](int) { o.add_special = false; });
  table.flag("--no-parse-special", "Names of control tokens in the text are plain text",
             [&o](int) { o.parse_special = false; });
  table.group("Output");
  table.flag("--ids", "Only the numbers, in one line", [&o](int) { o.ids = true; });
  add_output_options(table, o.common);
  return finish(table, arguments, o, [&o](const std::vector<std::string>& words) -> Status {
    OXBOW_TRY(take_words(words, o.common.model, &o.prompt));
    return check_prompts(o.prompt, o.prompt_file);
  });
}

tl::expected<Command, Stop> parse_logits(std::span<const std::string> arguments) {
  LogitsOptions o;
  std::optional<std::string> tokens;
  OptionTable table("oxbow logits [FILE]",
                    "Writes the logits after each of the given tokens: a float32 array [tokens, vocabulary] "
                    "in NumPy's format.");
  add_model_options(table, o.common);
  table.group("Input and output");
  table.text("--tokens", "LIST", "Token numbers, such as \"1 2 3\" or 1,2,3",
             [&](const std::string& text) { tokens = text; });
  table.text("--tokens-file", "FILE", "Read them from a file, - for standard input",
             [&o](const std::string& text) { o.tokens_file = text; });
  table.text("-o,--output", "FILE", "The file to write", [&o](const std::string& text) { o.output = text; });
  table.group("Memory and speed");
  add_memory_options(table, o.memory);
  add_thread_option(table, o.common);
  table.integer("--chunk", "Tokens that are computed together; the result does not depend on it (512)", 1,
                kMaxStepTokens, "512", [&o](int64_t n) { o.chunk = static_cast<size_t>(n); });
  table.flag("--exact", "Multiply the exact values of the weights in f32: slow, for comparisons",
             [&o](int) { o.exact = true; });
  table.group("Output");
  add_output_options(table, o.common);
  return finish(table, arguments, o, [&](const std::vector<std::string>& words) -> Status {
    OXBOW_TRY(take_words(words, o.common.model, nullptr));
    if (o.output.empty()) return fail(ErrorKind::kInvalidInput, "the file to write is missing: -o FILE");
    if (tokens.has_value() == o.tokens_file.has_value()) {
      return fail(ErrorKind::kInvalidInput, "expected either --tokens LIST or --tokens-file FILE");
    }
    if (!tokens) return {};
    OXBOW_ASSIGN(o.tokens, parse_tokens(*tokens));
    return {};
  });
}

tl::unexpected<Stop> unknown_command(const std::string& word) {
  std::error_code error;
  if (word.ends_with(".gguf") || std::filesystem::exists(word, error)) {
    return usage_error(fmt::format("\"{}\" is no command; to run a model: oxbow run {}", word, word));
  }
  const std::string near = nearest(word, kCommands);
  if (!near.empty()) return usage_error(fmt::format("unknown command {}, did you mean {}?", word, near));
  return usage_error(fmt::format("unknown command {}, expected {}", word, fmt::join(kCommands, ", ")));
}

}  // namespace

engine::SamplerSettings SamplingChoices::over(engine::SamplerSettings settings) const {
  if (temperature) settings.temperature = *temperature;
  if (top_k) settings.top_k = *top_k;
  if (top_p) settings.top_p = *top_p;
  if (min_p) settings.min_p = *min_p;
  if (repeat_penalty) settings.repeat_penalty = *repeat_penalty;
  if (repeat_last_n) settings.repeat_last_n = *repeat_last_n;
  return settings;
}

tl::expected<Command, Stop> parse_command_line(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return usage_error(kUsage);
  const std::string& first = arguments[0];
  const std::span<const std::string> all(arguments);
  const std::span<const std::string> rest = all.subspan(1);
  if (first == "-h" || first == "--help") return tl::unexpected<Stop>(Stop{kExitOk, kUsage});
  if (first == "--version") return tl::unexpected<Stop>(Stop{kExitOk, "oxbow " OXBOW_VERSION "\n"});
  if (first == "help") {
    if (rest.empty() || rest[0] == "help") return tl::unexpected<Stop>(Stop{kExitOk, kUsage});
    return parse_command_line({rest[0], "--help"});
  }
  if (first == "run") return parse_run(rest);
  if (first == "show") return parse_show(rest);
  if (first == "tokenize") return parse_tokenize(rest);
  if (first == "logits") return parse_logits(rest);
  if (first.starts_with('-') && first.size() > 1) return parse_run(all);
  return unknown_command(first);
}

}  // namespace oxbow::cli
