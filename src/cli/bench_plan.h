#pragma once
// What `oxbow bench` measures: one test is one row of its table.

#include <string>
#include <vector>

#include "cli/options.h"

namespace oxbow::cli {

inline constexpr size_t kDraftSteps = 8;  // a single one would be over too soon

struct BenchTest {
  size_t prompt = 0;    // tokens of a prompt
  size_t generate = 0;  // single-token steps after it
  size_t draft = 0;     // tokens of one sequence in one step, kDraftSteps times
  size_t parallel = 1;  // sequences that do this together
  size_t depth = 0;     // tokens of each sequence before

  size_t tokens() const { return (prompt + generate) * parallel + draft * kDraftSteps; }
  // "pp512", "tg128", "pp512+tg128", "tg128 x8", "draft9"; " @ d4096" with a depth
  std::string name() const;
};

// Every combination: by depth, prompts first.
std::vector<BenchTest> bench_tests(const BenchOptions& options);

}  // namespace oxbow::cli
