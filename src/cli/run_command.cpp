#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/chat.h"
#include "cli/chat_choice.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/input_text.h"
#include "cli/interrupt.h"
#include "cli/loading.h"
#include "cli/report.h"

namespace oxbow::cli {
namespace {

using Json = nlohmann::ordered_json;

// What the options and the standard streams ask for.
struct Request {
  std::optional<std::string> prompt;  // nothing: a chat from its beginning
  std::string system;
  bool interactive = false;
};

// Everything that answers.
struct Machine {
  std::shared_ptr<const model::Model> model;
  std::unique_ptr<text::Tokenizer> tokenizer;
  std::unique_ptr<engine::Engine> engine;
  size_t context = 0;
  uint64_t seed = 0;
  engine::SamplerSettings sampling;
};

Result<Request> read_request(const RunOptions& options, const Console& console) {
  Request request;
  request.system = options.system;
  if (options.system_file) {
    OXBOW_ASSIGN(request.system, read_text(*options.system_file));
    request.system = without_last_newline(std::move(request.system));
  }
  const bool person =
      console.stdin_is_terminal() && (console.stdout_is_terminal() || console.stderr_is_terminal());
  if (options.prompt) {
    request.prompt = options.prompt;
  } else if (options.prompt_file || !console.stdin_is_terminal()) {
    OXBOW_ASSIGN(std::string text, read_text(options.prompt_file.value_or("-")));
    request.prompt = without_last_newline(std::move(text));
    if (request.prompt->empty() && !options.prompt_file) {
      return fail(ErrorKind::kInvalidInput,
                  "there is no prompt: use -p TEXT, -f FILE, or write it to standard input");
    }
  }
  request.interactive = person && (!request.prompt || options.conversation);
  if (request.interactive && (options.raw || options.json)) {
    return fail(ErrorKind::kInvalidInput, "{} needs a prompt: -p TEXT or -f FILE",
                options.raw ? "--raw" : "--json");
  }
  if (!request.prompt && !request.interactive) {
    return fail(ErrorKind::kInvalidInput, "there is no terminal to chat at: use -p TEXT or -f FILE");
  }
  return request;
}

Result<Machine> set_up(const RunOptions& options, Console& console) {
  Machine machine;
  OXBOW_ASSIGN(const auto file, open_model_file(options.common));
  OXBOW_ASSIGN(machine.tokenizer, load_tokenizer(*file));
  machine.sampling = options.sampling.over(engine::SamplerSettings::from_file(*file));
  machine.seed = options.sampling.seed >= 0
                     ? static_cast<uint64_t>(options.sampling.seed)
                     : (uint64_t{std::random_device{}()} << 31 ^ std::random_device{}()) >> 1;
  machine.sampling.seed = machine.seed;
  OXBOW_TRY(machine.sampling.check());
  OXBOW_ASSIGN(machine.model, load_model(file, options.common, Weights::kPacked, console));
  OXBOW_ASSIGN(machine.engine,
               make_engine(machine.model, options.memory, options.common.threads, options.batch_tokens, 1));
  machine.context = choose_context(options.memory, *machine.model, machine.engine->memory(), console);
  if (options.gpu_layers_given) console.warn("-ngl is ignored: Oxbow runs on the CPU");
  return machine;
}

// The chat format when the prompt is a message; nothing when it is text to complete.
Result<std::optional<text::ChatFormat>> find_format(const RunOptions& options, const Request& request,
                                                    const Machine& machine, Console& console) {
  if (options.raw) return std::nullopt;
  const gguf::File& file = machine.model->file();
  const bool chosen = options.chat.chat_template || options.chat.template_file;
  const bool chat = chosen || request.interactive || !request.system.empty();
  if (!chat && chat_support(file, machine.tokenizer->vocabulary()) == text::ChatSupport::kNone) {
    console.dim("The model has no chat format: it completes the text.");
    return std::nullopt;
  }
  OXBOW_ASSIGN(text::ChatFormat format, choose_chat_format(options.chat, file, *machine.tokenizer, console));
  return format;
}

std::string as_json(const RunOptions& options, const Machine& machine, const Answer& answer,
                    const AnswerOptions& limits, double load_seconds) {
  const Statistics& s = answer.statistics;
  Json json;
  json["model"] = machine.model->file().path();
  const auto [thoughts, text] = text::split_thinking(answer.text, limits.open_thinking);
  json["text"] = text;
  if (!thoughts.empty()) json["thinking"] = thoughts;
  json["stop"] = stop_reason_name(answer.stop);
  json["seed"] = machine.seed;
  json["tokens"] = {{"prompt", s.prompt_tokens},
                    {"matched", s.matched_tokens},
                    {"reused", s.reused_tokens},
                    {"miss", s.miss},
                    {"answer", s.answer_tokens}};
  json["seconds"] = {{"load", load_seconds},
                     {"prompt", s.prompt_seconds},
                     {"first_token", s.first_token_seconds},
                     {"answer", s.answer_seconds}};
  json["context"] = {{"used", s.context_used}, {"size", s.context_size}};
  if (options.common.verbosity > 0) json["ids"] = answer.tokens;
  if (answer.error) json["error"] = answer.error->message;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// One answer to one prompt.
int answer_once(const RunOptions& options, const Machine& machine, Generator& generator, TextOutput& output,
                const std::vector<TokenId>& prompt, const AnswerOptions& limits, double load_seconds,
                Console& console) {
  set_double_interrupt_exits(true);
  Answer answer = generator.answer(prompt, limits);
  const bool closed = answer.stop == StopReason::kClosed;
  if (options.json) {
    if (auto status = output.write(as_json(options, machine, answer, limits, load_seconds)); !status)
      answer.error = status.error();
  } else if (!closed && console.stdout_is_terminal()) {
    if (auto status = output.finish_line(); !status && !answer.error) answer.error = status.error();
  }
  const bool evaluated = !answer.error || !answer.tokens.empty();
  if (!closed && evaluated && !options.json) console.dim("{}", format_statistics(answer.statistics));
  if (answer.stop == StopReason::kContext) {
    console.warn(
        fmt::format("the context of {} tokens is full, so the answer stops here; a larger one: -c {}",
                    machine.context, 2 * machine.context));
  }
  if (answer.error) return report(console, *answer.error);
  if (answer.stop == StopReason::kInterrupted) return 128 + pending_interrupt();
  return kExitOk;
}

void greet(const Machine& machine, Console& console) {
  const auto name = machine.model->file().find_string("general.name");
  console.dim("{} · {} · {} parameters · ctx {}",
              name && *name ? std::string(**name) : machine.model->file().path(),
              machine.model->architecture(), format_count(machine.model->parameter_count()),
              format_kilo(machine.context));
  console.dim("Write a message; /help lists the commands.");
}

// The tokens of text that is completed as it is.
std::vector<TokenId> plain_tokens(const Machine& machine, const std::string& prompt) {
  auto tokens = machine.tokenizer->encode(prompt, {.add_special = true, .parse_special = true});
  const auto& vocabulary = machine.tokenizer->vocabulary();
  if (vocabulary.add_eos() && !tokens.empty() && tokens.back() == vocabulary.eos()) tokens.pop_back();
  return tokens;
}

// A session file that exists is where the talk goes on.
Status go_on(const RunOptions& options, Chat& talk) {
  std::error_code error;
  if (options.session_file.empty() || !std::filesystem::exists(options.session_file, error)) return {};
  return talk.restore(options.session_file);
}

int answer_request(const RunOptions& options, const Request& request, const Machine& machine,
                   double load_seconds, Console& console) {
  const auto format = find_format(options, request, machine, console);
  if (!format) return report(console, format.error());
  AnswerOptions limits{.max_tokens = options.predict, .ignore_eos = options.ignore_eos};
  limits.hide_thinking = options.hide_thinking;
  engine::Session session(*machine.engine, machine.context);
  engine::Sampler sampler(machine.sampling);
  TextOutput output(STDOUT_FILENO, console.stdout_is_terminal(), console.stdout_has_color());
  Generator generator(session, *machine.tokenizer, sampler, console, options.json ? nullptr : &output);
  if (options.common.verbosity > 0) console.dim("seed {}", machine.seed);
  if (!*format) {
    const auto tokens = plain_tokens(machine, *request.prompt);
    return answer_once(options, machine, generator, output, tokens, limits, load_seconds, console);
  }
  limits.stop_text = (*format)->stop_text();
  limits.stop_token = (*format)->stop_token();
  Conversation conversation(**format, request.system);
  if (request.interactive) {
    greet(machine, console);
    Chat talk(*machine.engine, session, std::move(conversation), generator, output, console,
              {limits, options.single_turn, options.history, options.session_file});
    if (auto status = go_on(options, talk); !status) return report(console, status.error());
    return talk.run(request.prompt);
  }
  if (!options.session_file.empty()) {
    Chat talk(*machine.engine, session, std::move(conversation), generator, output, console,
              {limits, true, false, options.session_file});
    if (auto status = go_on(options, talk); !status) return report(console, status.error());
    return talk.run(request.prompt);
  }
  conversation.ask(*request.prompt);
  auto prompt = conversation.prompt();
  if (!prompt) return report(console, prompt.error());
  limits.open_thinking = prompt->open_thinking;
  return answer_once(options, machine, generator, output, prompt->tokens, limits, load_seconds, console);
}

}  // namespace

int run_command(const RunOptions& options, Console& console) {
  const InterruptGuard guard;
  auto request = read_request(options, console);
  if (!request) {
    report(console, request.error());
    return request.error().kind == ErrorKind::kInvalidInput ? kExitUsage : kExitRunTime;
  }
  const auto start = std::chrono::steady_clock::now();
  auto machine = set_up(options, console);
  if (!machine) return report(console, machine.error());
  const std::chrono::duration<double> loading = std::chrono::steady_clock::now() - start;
  return answer_request(options, *request, *machine, loading.count(), console);
}

}  // namespace oxbow::cli
