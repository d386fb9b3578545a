#pragma once
// The command line of every command.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/console.h"
#include "cli/values.h"
#include "engine/sampler.h"
#include "memory/state_spec.h"

namespace oxbow::cli {

// Of every command that opens a model.
struct ModelOptions {
  std::string model;  // empty: the environment's or the bundled one
  int threads = 0;    // 0: all usable cores
  bool allow_unknown = false;
  ColorChoice color = ColorChoice::kAuto;
  int verbosity = 0;
};

// Of every command that asks what memory needs or runs a model.
struct MemoryChoices {
  memory::KvTypes kv;
  size_t rewind_bytes = 0;
  size_t budget_mib = 0;
  std::string disk_folder;  // empty: no disk tier
  uint64_t disk_bytes = uint64_t{16} << 30;
  std::string redis;  // HOST:PORT; empty: no shared tier
  std::string redis_key_file;
  int64_t context = -1;  // -1: as much as the model and the memory allow; 0: the model's trained length
};

// Values of the flags; what was not given is the model's.
struct SamplingChoices {
  std::optional<float> temperature, top_p, min_p, repeat_penalty;
  std::optional<size_t> top_k, repeat_last_n;
  int64_t seed = -1;  // -1: another one each time

  engine::SamplerSettings over(engine::SamplerSettings settings) const;
};

// How messages become a prompt.
struct ChatChoices {
  std::optional<std::string> chat_template;  // its text, or the name of a built-in one or of one in the file
  std::optional<std::string> template_file;
  std::string arguments;      // a JSON object; empty: none
  std::optional<bool> think;  // nothing: as the template does by itself
};

struct RunOptions {
  ModelOptions common;
  MemoryChoices memory;
  SamplingChoices sampling;
  std::optional<std::string> prompt;
  std::optional<std::string> prompt_file;  // "-": standard input
  std::string system;
  std::optional<std::string> system_file;
  int64_t predict = -1;  // -1: until the end
  size_t batch_tokens = 512;
  ChatChoices chat;
  bool hide_thinking = false;
  bool raw = false;
  bool ignore_eos = false;
  bool conversation = false;  // go on talking after the prompt
  bool single_turn = false;
  bool history = true;
  std::string session_file;
  bool json = false;
  bool gpu_layers_given = false;
};

struct ServeOptions {
  ModelOptions common;
  MemoryChoices memory;
  SamplingChoices sampling;  // what requests that say nothing get
  ChatChoices chat;
  std::string alias;  // what clients call the model; empty: the file's name
  std::string host = "127.0.0.1";
  uint16_t port = 8080;  // 0: a free one
  std::string unix_socket;
  std::vector<std::string> keys, origins;
  std::string key_file;
  size_t parallel = 8;
  size_t queue = 256;
  size_t batch_tokens = 512;
  size_t connections = 1024;
  uint64_t body_bytes = 16 << 20;
  int64_t timeout_seconds = 3600;
  int64_t idle_seconds = 75;
  int64_t drain_seconds = 30;
  std::string slot_folder;    // empty: slots cannot be saved
  bool cache_shared = false;  // clients with different keys share cached prefixes
  bool log_jsonl = false;
};

struct ShowOptions {
  ModelOptions common;
  MemoryChoices memory;
  bool draw_memory = false;
  bool json = false;
};

struct TokenizeOptions {
  ModelOptions common;
  std::optional<std::string> prompt;
  std::optional<std::string> prompt_file;
  bool ids = false;
  bool add_special = true;
  bool parse_special = true;
};

struct LogitsOptions {
  ModelOptions common;
  MemoryChoices memory;
  std::vector<TokenId> tokens;  // or those of tokens_file
  std::optional<std::string> tokens_file;
  std::string output;
  size_t chunk = 512;
  bool exact = false;
};

enum class BenchFormat { kMarkdown, kCsv, kJson };

// Every combination of the lists is measured.
struct BenchOptions {
  ModelOptions common;
  MemoryChoices memory;
  std::vector<std::string> models;      // the default one when there is none
  std::vector<size_t> prompts = {512};  // tokens; 0: no such test
  std::vector<size_t> generated = {128};
  std::vector<std::pair<size_t, size_t>> both;  // a prompt, then generated tokens
  std::vector<size_t> drafts;                   // tokens of one sequence in one step
  std::vector<size_t> parallel = {1};           // sequences that generate together
  std::vector<size_t> depths = {0};             // tokens before each test
  std::vector<size_t> batches = {512};
  std::vector<size_t> threads;  // all usable cores when empty
  size_t repeat = 5;
  bool warm_up = true;
  BenchFormat format = BenchFormat::kMarkdown;
};

using Command =
    std::variant<RunOptions, ServeOptions, ShowOptions, TokenizeOptions, LogitsOptions, BenchOptions>;

// The command line asks for no command: the text goes to stdout (help, version; exit code 0) or says what is
// wrong with it (exit code 2).
struct Stop {
  int exit_code;
  std::string text;
};

// arguments: without the program's name. Flags before variables of the environment before defaults.
tl::expected<Command, Stop> parse_command_line(const std::vector<std::string>& arguments);

}  // namespace oxbow::cli
