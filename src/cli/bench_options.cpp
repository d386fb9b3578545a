#include <algorithm>

#include "cli/option_groups.h"

namespace oxbow::cli {
namespace {

// A list of counts within limits.
void add_counts(OptionTable& table, const char* names, const char* help, size_t low, size_t high,
                std::vector<size_t>& target) {
  table.checked(
      names, "N[,N]", help,
      [low, high](const std::string& text) {
        const auto counts = parse_counts(text);
        if (!counts) return counts.error().message;
        for (const size_t n : *counts) {
          if (n < low || n > high) return fmt::format("expected {} to {}, {} was given", low, high, n);
        }
        return std::string();
      },
      [&target](const std::string& text) { target = *parse_counts(text); }, true);
}

void add_pairs(OptionTable& table, std::vector<std::pair<size_t, size_t>>& target) {
  const auto parse = [](const std::string& text) -> std::vector<std::pair<size_t, size_t>> {
    std::vector<std::pair<size_t, size_t>> pairs;
    const auto counts = parse_counts(text);
    if (!counts || counts->size() % 2 != 0) return pairs;
    for (size_t i = 0; i < counts->size(); i += 2) {
      if ((*counts)[i] == 0 || (*counts)[i + 1] == 0) return {};
      pairs.emplace_back((*counts)[i], (*counts)[i + 1]);
    }
    return pairs;
  };
  table.checked(
      "--prompt-generate", "P,N[,P,N]", "Also time a prompt of P tokens with N generated ones (also -pg)",
      [parse](const std::string& text) {
        return parse(text).empty()
                   ? fmt::format("expected pairs from 1 such as 512,128, \"{}\" was given", text)
                   : std::string();
      },
      [parse, &target](const std::string& text) { target = parse(text); });
}

Status check(BenchOptions& o) {
  const auto drop_zeros = [](std::vector<size_t>& counts) { std::erase(counts, size_t{0}); };
  drop_zeros(o.prompts);
  drop_zeros(o.generated);
  drop_zeros(o.drafts);
  if (o.prompts.empty() && o.generated.empty() && o.both.empty() && o.drafts.empty()) {
    return fail(ErrorKind::kInvalidInput, "nothing to measure: -p, -n, -pg and --draft are all 0");
  }
  const size_t smallest = *std::ranges::min_element(o.batches);
  for (const auto* counts : {&o.drafts, &o.parallel}) {
    if (counts->empty() || *std::ranges::max_element(*counts) <= smallest) continue;
    return fail(ErrorKind::kInvalidInput, "{} tokens do not fit in one step of -b {}",
                *std::ranges::max_element(*counts), smallest);
  }
  return {};
}

}  // namespace

tl::expected<Command, Stop> parse_bench(std::span<const std::string> arguments) {
  constexpr size_t kMostTokens = size_t{1} << 24;
  BenchOptions o;
  OptionTable table("oxbow bench [FILE...]", "Measures how fast models run here: tokens per second.");
  add_model_options(table, o.common);
  table.group("Tests (lists such as 512,2048 and ranges such as 1-16*2; every combination is run)");
  add_counts(table, "-p,--n-prompt", "Tokens of a prompt; 0: no prompt (512)", 0, kMostTokens, o.prompts);
  add_counts(table, "-n,--n-gen", "Tokens to generate; 0: none (128)", 0, kMostTokens, o.generated);
  add_pairs(table, o.both);
  add_counts(table, "--draft", "Tokens of one sequence in one step, as a draft is checked (none)", 0,
             kMaxStepTokens, o.drafts);
  add_counts(table, "--parallel", "Sequences that generate together (also -np; 1)", 1, 4096, o.parallel);
  add_counts(table, "-d,--n-depth", "Tokens before each test (0)", 0, kMostTokens, o.depths);
  table.group("Memory and speed");
  add_memory_options(table, o.memory);
  add_counts(table, "-t,--threads", "Threads (default: all usable cores)", 1, kMaxThreads, o.threads);
  add_counts(table, "-b,--batch-size,--ubatch-size",
             "Prompt tokens that are computed together (also -ub; 512)", 1, kMaxStepTokens, o.batches);
  table.integer("-r,--repetitions", "Runs of each test after one to warm up", 1, 1000, "5",
                [&o](int64_t n) { o.repeat = static_cast<size_t>(n); });
  table.flag("--no-warmup", "Without the run to warm up", [&o](int) { o.warm_up = false; });
  table.integer("--gpu-layers,--n-gpu-layers", "Ignored: Oxbow runs on the CPU (also -ngl)", -1, kMaxTokens,
                "0", [](int64_t) {});
  table.group("Output");
  table.choice("-o,--output", "Format of the table (default: md)", {"md", "csv", "json"}, "md",
               [&o](size_t i) { o.format = static_cast<BenchFormat>(i); });
  add_output_options(table, o.common);
  return finish(table, arguments, o, [&o](const std::vector<std::string>& words) -> Status {
    if (!o.common.model.empty()) o.models.push_back(o.common.model);
    o.models.insert(o.models.end(), words.begin(), words.end());
    if (o.models.empty()) o.models.emplace_back();
    return check(o);
  });
}

}  // namespace oxbow::cli
