#include <fmt/format.h>

#include "cli/option_groups.h"
#include "server/access.h"

namespace oxbow::cli {
namespace {

constexpr int64_t kDaySeconds = 86'400;

void add_size(OptionTable& table, const char* names, const char* help, const char* fallback,
              uint64_t& target) {
  table.checked(
      names, "BYTES", help,
      [fallback](const std::string& text) {
        const auto size = parse_size(text);
        return size && *size > 0 ? std::string()
                                 : fmt::format("expected bytes such as 16M (default: {}), \"{}\" was given",
                                               fallback, text);
      },
      [&target](const std::string& text) { target = *parse_size(text); }, true);
}

void add_network_options(OptionTable& table, ServeOptions& o) {
  table.group("Network");
  table.text(
      "--host", "ADDRESS", "Address to listen on; 0.0.0.0: all of IPv4 (127.0.0.1)",
      [&o](const std::string& text) { o.host = text; }, OptionTable::kVariable);
  table.integer("--port", "Port to listen on; 0: a free one (8080)", 0, 65535, "8080",
                [&o](int64_t n) { o.port = static_cast<uint16_t>(n); });
  table.text(
      "--unix-socket", "PATH", "Listen on this socket, too; with --host \"\" only there",
      [&o](const std::string& text) { o.unix_socket = text; }, OptionTable::kVariable);
  table.text(
      "--api-key", "KEYS", "Keys that clients must have, separated by commas",
      [&o](const std::string& text) { o.keys = server::split_keys(text); }, OptionTable::kVariable);
  table.text(
      "--api-key-file", "FILE", "Read them from a file, one a line",
      [&o](const std::string& text) { o.key_file = text; }, OptionTable::kVariable);
  table.text(
      "--cors-origins", "LIST", "Origins of pages that may ask, beside local ones; *: all",
      [&o](const std::string& text) { o.origins = server::split_keys(text); }, OptionTable::kVariable);
  table.integer("--max-connections", "Connections at once (1024)", 1, 100'000, "1024",
                [&o](int64_t n) { o.connections = static_cast<size_t>(n); });
  add_size(table, "--max-body", "Most bytes of a request's body (16M)", "16M", o.body_bytes);
  table.integer("--timeout", "Seconds that an answer may take; 0: any (3600)", 0, 7 * kDaySeconds, "3600",
                [&o](int64_t n) { o.timeout_seconds = n; });
  table.integer("--idle-timeout", "Seconds that a connection may wait between requests (75)", 1, kDaySeconds,
                "75", [&o](int64_t n) { o.idle_seconds = n; });
  table.integer("--shutdown-timeout", "Seconds that running answers get after SIGTERM (30)", 0, kDaySeconds,
                "30", [&o](int64_t n) { o.drain_seconds = n; });
}

void add_serving_options(OptionTable& table, ServeOptions& o) {
  table.group("Serving");
  table.text(
      "-a,--alias", "NAME", "What clients call the model (default: its file's name)",
      [&o](const std::string& text) { o.alias = text; }, OptionTable::kVariable);
  table.integer("--parallel", "Answers at once, at most; allocates nothing (also -np; 8)", 1, 1024, "8",
                [&o](int64_t n) { o.parallel = static_cast<size_t>(n); });
  table.integer("--queue", "Requests that may wait (256)", 0, 1'000'000, "256",
                [&o](int64_t n) { o.queue = static_cast<size_t>(n); });
  table.text(
      "--slot-save-path", "DIR", "Where clients may save slots (default: nowhere)",
      [&o](const std::string& text) { o.slot_folder = text; }, OptionTable::kVariable);
  table.flag(
      "--cache-shared", "Clients with different API keys share cached prefixes",
      [&o](int count) { o.cache_shared = count > 0; }, OptionTable::kVariable);
}

Status check(const ServeOptions& o) {
  if (o.chat.chat_template && o.chat.template_file) {
    return fail(ErrorKind::kInvalidInput,
                "there are two chat templates: --chat-template and --chat-template-file");
  }
  if (o.host.empty() && o.unix_socket.empty()) {
    return fail(ErrorKind::kInvalidInput,
                "there is nothing to listen on: --host is empty, and there is no --unix-socket");
  }
  if (o.batch_tokens < o.parallel) {
    return fail(ErrorKind::kInvalidInput,
                "--batch-size {} is less than --parallel {}: a step has room for one token of each",
                o.batch_tokens, o.parallel);
  }
  return {};
}

}  // namespace

tl::expected<Command, Stop> parse_serve(std::span<const std::string> arguments) {
  ServeOptions o;
  OptionTable table("oxbow serve [FILE]", "Serves a model to OpenAI clients.");
  add_model_options(table, o.common);
  add_network_options(table, o);
  add_serving_options(table, o);
  add_template_options(table, o.chat);
  add_sampling_options(table, o.sampling);
  table.group("Memory and speed");
  add_context_option(table, o.memory);
  add_memory_options(table, o.memory);
  add_store_options(table, o.memory);
  add_thread_option(table, o.common);
  table.integer("-b,--batch-size,--ubatch-size", "Tokens that are computed together (also -ub; default: 512)",
                1, kMaxStepTokens, "512", [&o](int64_t n) { o.batch_tokens = static_cast<size_t>(n); });
  table.flag("--cont-batching,--metrics,--slots,--props,--jinja", "Accepted, without effect (also -cb)",
             [](int) {});
  table.group("Output");
  table.flag(
      "--log-jsonl", "Log one JSON object a line", [&o](int count) { o.log_jsonl = count > 0; },
      OptionTable::kVariable);
  add_output_options(table, o.common);
  table.footer(
      "Examples:\n  oxbow serve -m model.gguf\n"
      "  oxbow serve -m model.gguf --host 0.0.0.0 --api-key-file keys.txt --cache-disk /var/cache/oxbow\n\n"
      "Settings are also read from the environment: OXBOW_ and the long name, such as OXBOW_PORT=8081.");
  return finish(table, arguments, o, [&o](const std::vector<std::string>& words) -> Status {
    OXBOW_TRY(take_words(words, o.common.model, nullptr));
    return check(o);
  });
}

}  // namespace oxbow::cli
