#include "cli/options.h"

#include <fmt/ranges.h>

#include <filesystem>

#include "cli/arguments.h"
#include "cli/option_groups.h"

namespace oxbow::cli {
namespace {

const std::vector<std::string> kCommands = {"run", "serve", "show", "tokenize", "logits", "bench", "help"};

constexpr const char* kUsage =
    "Oxbow runs hybrid language models from GGUF files on the CPU.\n"
    "\n"
    "Usage: oxbow COMMAND [OPTIONS]\n"
    "\n"
    "  run [FILE] [PROMPT]     answer a prompt, or chat when there is none\n"
    "  serve [FILE]            an OpenAI-compatible server\n"
    "  show [FILE]             what a model is and what it needs in memory\n"
    "  tokenize [FILE] [TEXT]  the tokens of a text\n"
    "  logits [FILE]           the logits of given tokens as a NumPy file\n"
    "  bench [FILE...]         how fast models run here\n"
    "\n"
    "Without a command, options are those of run: oxbow -m FILE -p TEXT.\n"
    "oxbow COMMAND --help lists the options of a command; oxbow --version says which Oxbow this is.\n"
    "Without a model, the bundled one is used.\n";

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
  add_template_options(table, o.chat);
  table.flag("--hide-thinking", "Do not show what the model thinks before it answers",
             [&o](int) { o.hide_thinking = true; });
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
  if (first == "serve") return parse_serve(rest);
  if (first == "show") return parse_show(rest);
  if (first == "tokenize") return parse_tokenize(rest);
  if (first == "logits") return parse_logits(rest);
  if (first == "bench") return parse_bench(rest);
  if (first.starts_with('-') && first.size() > 1) return parse_run(all);
  return unknown_command(first);
}

}  // namespace oxbow::cli
