// The ledger against what the system counts: resident anonymous memory under a random load.

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "memory/memory.h"
#include "support/sanitizers.h"

namespace oxbow::memory {
namespace {

size_t resident_anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (!line.starts_with("RssAnon:")) continue;
    size_t kilobytes = 0;
    std::istringstream(line.substr(8)) >> kilobytes;
    return kilobytes << 10;
  }
  return 0;
}

// Touches what a forward pass would write.
void fill(const StepViews& views, const MemoryLayout& layout) {
  for (const RecurrentView& view : views.recurrent) {
    for (const RecurrentView::Sequence& one : view.sequences) {
      std::memset(one.state, 1, layout.state_bytes());
      for (const StateSnapshot& snapshot : one.snapshots)
        std::memset(snapshot.state, 2, layout.state_bytes());
      for (size_t t = 0; t < one.span.tokens; ++t) {
        if (one.rows[t] != nullptr) std::memset(one.rows[t], 3, layout.row_bytes());
      }
    }
  }
  for (const AttentionView& view : views.attention) {
    for (const AttentionView::Sequence& one : view.sequences) {
      const size_t last = (one.span.position + one.span.tokens - 1) / kPagePositions;
      for (size_t i = one.span.position / kPagePositions; i <= last; ++i)
        std::memset(one.pages[i], 4, layout.groups()[0].page_bytes);
    }
  }
}

TEST(ResidentMemory, StaysWithinFivePercentOfTheLedgerAndGoesBack) {
#ifdef OXBOW_HAS_SHADOW_MEMORY
  GTEST_SKIP() << "sanitizers keep freed memory";
#endif
  const size_t budget = size_t{256} << 20;
  const std::vector<StateSpec> specs = {{0, RecurrentSpec{size_t{300} << 10, 3000}},
                                        {1, KvSpec{4, 64, 64, 0}}};
  MemoryOptions options{budget, 0, {}};
  options.first_checkpoint = 64;
  const size_t baseline = resident_anonymous_bytes();
  size_t most_used = 0;
  {
    Memory memory(specs, options);
    std::mt19937 random(7);
    std::vector<SequenceId> live;
    std::vector<std::vector<TokenId>> prompts;
    for (int i = 0; i < 1200; ++i) {
      if (live.size() < 6 && random() % 3 == 0) {
        std::vector<TokenId> prompt;
        if (!prompts.empty() && random() % 2 == 0) prompt = prompts[random() % prompts.size()];
        prompt.resize(random() % (prompt.size() + 1));
        for (size_t n = 1 + random() % 300; n > 0; --n)
          prompt.push_back(static_cast<TokenId>(random() % 1000));
        const auto opened = memory.open(prompt);
        ASSERT_TRUE(opened);
        live.push_back(opened->sequence);
        const BatchEntry entry{opened->sequence, std::span(prompt).subspan(opened->reused), 0};
        if (auto step = memory.prepare({&entry, 1})) {
          fill(step->views(), memory.layout());
          step->commit();
        }
        if (prompts.size() < 50) prompts.push_back(std::move(prompt));
      } else if (!live.empty() && random() % 4 == 0) {
        const size_t which = random() % live.size();
        ASSERT_TRUE(memory.keep(live[which]));
        ASSERT_TRUE(memory.drop(live[which]));
        live.erase(live.begin() + static_cast<ptrdiff_t>(which));
      } else if (!live.empty()) {
        const std::vector<TokenId> tokens(1 + random() % 40, 5);
        const BatchEntry entry{live[random() % live.size()], tokens, 0};
        if (auto step = memory.prepare({&entry, 1})) {
          fill(step->views(), memory.layout());
          step->commit();
        }
      }
      most_used = std::max(most_used, memory.pool().used_bytes());
      if (i % 50 != 0) continue;
      const size_t resident = resident_anonymous_bytes() - std::min(baseline, resident_anonymous_bytes());
      ASSERT_LE(resident, memory.pool().used_bytes() + budget / 20 + (size_t{4} << 20)) << "operation " << i;
      ASSERT_LE(resident, budget + budget / 20) << "operation " << i;
    }
    EXPECT_GT(most_used, budget / 10 * 9) << "the load must reach the budget";
    for (const SequenceId sequence : live) ASSERT_TRUE(memory.drop(sequence));
    memory.evict(SIZE_MAX);
    EXPECT_EQ(memory.pool().used_bytes(), 0U);
    EXPECT_LE(resident_anonymous_bytes(), baseline + budget / 20 + (size_t{8} << 20));
  }
}

}  // namespace
}  // namespace oxbow::memory
