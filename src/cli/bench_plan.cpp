#include "cli/bench_plan.h"

#include <fmt/format.h>

namespace oxbow::cli {

std::string BenchTest::name() const {
  std::string name;
  if (prompt > 0) name += fmt::format("pp{}", prompt);
  if (generate > 0) name += fmt::format("{}tg{}", name.empty() ? "" : "+", generate);
  if (draft > 0) name += fmt::format("draft{}", draft);
  if (parallel > 1) name += fmt::format(" x{}", parallel);
  if (depth > 0) name += fmt::format(" @ d{}", depth);
  return name;
}

std::vector<BenchTest> bench_tests(const BenchOptions& options) {
  std::vector<BenchTest> tests;
  for (const size_t depth : options.depths) {
    for (const size_t prompt : options.prompts) tests.push_back({.prompt = prompt, .depth = depth});
    for (const size_t parallel : options.parallel) {
      for (const size_t generate : options.generated) {
        tests.push_back({.generate = generate, .parallel = parallel, .depth = depth});
      }
      for (const auto& [prompt, generate] : options.both) {
        tests.push_back({.prompt = prompt, .generate = generate, .parallel = parallel, .depth = depth});
      }
    }
    for (const size_t draft : options.drafts) tests.push_back({.draft = draft, .depth = depth});
  }
  return tests;
}

}  // namespace oxbow::cli
