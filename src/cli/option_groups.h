#pragma once
// Groups of options that several commands have, and the end of parsing that all share.

#include <limits>

#include "cli/exit_code.h"
#include "cli/option_table.h"
#include "cli/options.h"

namespace oxbow::cli {

inline constexpr int64_t kMaxThreads = 1024;
inline constexpr int64_t kMaxTokens = std::numeric_limits<int32_t>::max();
inline constexpr int64_t kMaxStepTokens = 1 << 16;

// Each adds to the table's current group, or begins its own; targets outlive the table.
void add_model_options(OptionTable& table, ModelOptions& o);
void add_thread_option(OptionTable& table, ModelOptions& o);
void add_output_options(OptionTable& table, ModelOptions& o);
void add_memory_options(OptionTable& table, MemoryChoices& o);
void add_store_options(OptionTable& table, MemoryChoices& o);
void add_context_option(OptionTable& table, MemoryChoices& o);
void add_sampling_options(OptionTable& table, SamplingChoices& o);
void add_prompt_options(OptionTable& table, std::optional<std::string>& prompt,
                        std::optional<std::string>& file);
void add_template_options(OptionTable& table, ChatChoices& o);

tl::unexpected<Stop> usage_error(const std::string& message);

// The words of a command that takes [FILE] [TEXT]: the first is the model unless -m named one. text: null for
// commands without one.
Status take_words(const std::vector<std::string>& words, std::string& model,
                  std::optional<std::string>* text);
Status check_prompts(const std::optional<std::string>& prompt, const std::optional<std::string>& file);

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

// Commands with a file of their own.
tl::expected<Command, Stop> parse_bench(std::span<const std::string> arguments);
tl::expected<Command, Stop> parse_serve(std::span<const std::string> arguments);

}  // namespace oxbow::cli
