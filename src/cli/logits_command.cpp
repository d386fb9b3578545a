#include <algorithm>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/input_text.h"
#include "cli/interrupt.h"
#include "cli/loading.h"
#include "cli/npy.h"
#include "cli/progress.h"
#include "cli/report.h"

namespace oxbow::cli {
namespace {

constexpr size_t kMostOutputBytes = size_t{256} << 20;  // logits that are held at a time

Result<std::vector<TokenId>> read_tokens(const LogitsOptions& options) {
  if (!options.tokens_file) return options.tokens;
  OXBOW_ASSIGN(const std::string text, read_text(*options.tokens_file));
  auto tokens = parse_tokens(text);
  if (!tokens) return fail(tokens.error().kind, "{}: {}", *options.tokens_file, tokens.error().message);
  return tokens;
}

Status check_range(std::span<const TokenId> tokens, size_t vocabulary) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (static_cast<size_t>(tokens[i]) < vocabulary) continue;
    return fail(ErrorKind::kInvalidInput,
                "token {} of the list is {}, expected less than the vocabulary's {}", i, tokens[i],
                vocabulary);
  }
  return {};
}

Status write_logits(engine::Engine& engine, std::span<const TokenId> tokens, size_t chunk, OutputFile& file,
                    Console& console) {
  Progress progress(console, format_prompt);
  const std::string header = npy_header(tokens.size(), engine.model().vocabulary());
  OXBOW_TRY(file.write(std::as_bytes(std::span(header))));
  const auto sequence = engine.memory().create();
  for (size_t done = 0; done < tokens.size();) {
    progress.update(done, tokens.size());
    if (pending_interrupt() != 0) return fail(ErrorKind::kInvalidState, "stopped");
    const engine::StepEntry entry{sequence, tokens.subspan(done, std::min(chunk, tokens.size() - done)),
                                  engine::Outputs::kAll};
    auto logits = engine.step({&entry, 1});
    if (!logits) return tl::unexpected<Error>(with_advice(std::move(logits).error()));
    OXBOW_TRY(file.write(std::as_bytes(*logits)));
    done += entry.tokens.size();
  }
  return file.commit();
}

Status run(const LogitsOptions& options, Console& console) {
  OXBOW_ASSIGN(const std::vector<TokenId> tokens, read_tokens(options));
  OXBOW_ASSIGN(const auto gguf, open_model_file(options.common));
  OXBOW_ASSIGN(const auto model,
               load_model(gguf, options.common, options.exact ? Weights::kExact : Weights::kPacked, console));
  OXBOW_TRY(check_range(tokens, model->vocabulary()));
  const size_t fitting = kMostOutputBytes / (model->vocabulary() * sizeof(float));
  const size_t chunk = std::clamp<size_t>(std::min(fitting, tokens.size()), 1, options.chunk);
  OXBOW_ASSIGN(const auto engine, make_engine(model, options.memory, options.common.threads, chunk, chunk));
  OXBOW_ASSIGN(OutputFile file, OutputFile::create(options.output));
  return write_logits(*engine, tokens, chunk, file, console);
}

}  // namespace

int logits_command(const LogitsOptions& options, Console& console) {
  const InterruptGuard guard;
  if (Status status = run(options, console); !status) return report(console, status.error());
  return kExitOk;
}

}  // namespace oxbow::cli
