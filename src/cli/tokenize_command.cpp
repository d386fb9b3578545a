#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/escape.h"
#include "cli/exit_code.h"
#include "cli/input_text.h"
#include "cli/loading.h"
#include "cli/report.h"

namespace oxbow::cli {

int tokenize_command(const TokenizeOptions& options, Console& console) {
  auto file = open_model_file(options.common);
  if (!file) return report(console, file.error());
  auto tokenizer = load_tokenizer(**file);
  if (!tokenizer) return report(console, tokenizer.error());
  Result<std::string> text =
      options.prompt ? Result<std::string>(*options.prompt) : read_text(options.prompt_file.value_or("-"));
  if (!text) return report(console, text.error());
  const auto tokens = (*tokenizer)->encode(*text, {options.add_special, options.parse_special});
  if (options.ids) return print(console, fmt::format("{}\n", fmt::join(tokens, " ")));
  std::string lines;
  for (const TokenId token : tokens) {
    lines += fmt::format("{:>6} {}\n", token, quoted((*tokenizer)->token_bytes(token, true)));
  }
  return print(console, lines);
}

}  // namespace oxbow::cli
