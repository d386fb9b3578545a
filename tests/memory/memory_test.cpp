// The memory by itself: no model, states and pages filled by hand.

#include "memory/memory.h"

#include <gtest/gtest.h>

#include "base/log.h"

namespace oxbow::memory {
namespace {

const std::vector<StateSpec> kHybrid = {{0, RecurrentSpec{100, 10}}, {1, KvSpec{2, 8, 8, 0}}};
const std::vector<StateSpec> kAttention = {{0, KvSpec{1, 8, 8, 0}}};

MemoryOptions options(size_t budget_bytes = size_t{64} << 20) {
  return {budget_bytes, 1, {kernels::KvType::kF32, kernels::KvType::kF32}};
}

std::vector<TokenId> count_up(size_t n, TokenId first = 0) {
  std::vector<TokenId> tokens(n);
  for (size_t i = 0; i < n; ++i) tokens[i] = first + static_cast<TokenId>(i);
  return tokens;
}

void advance(Memory& memory, SequenceId sequence, size_t tokens) {
  const std::vector<TokenId> ids = count_up(tokens);
  const BatchEntry entry{sequence, ids, 0};
  auto step = memory.prepare({&entry, 1});
  ASSERT_TRUE(step) << step.error().message;
  step->commit();
}

TEST(Memory, KindsAreAnsweredFromTheSpecs) {
  EXPECT_TRUE(is_hybrid(kHybrid));
  EXPECT_FALSE(is_recurrent(kHybrid));
  EXPECT_FALSE(is_hybrid(kAttention));
  const std::vector<StateSpec> recurrent = {kHybrid[0]};
  EXPECT_TRUE(is_recurrent(recurrent));
  EXPECT_FALSE(is_hybrid(recurrent));
}

TEST(Memory, SpecsWithTheSameWindowShareAPage) {
  const std::vector<StateSpec> specs = {
      {0, KvSpec{2, 8, 16, 0}}, {1, KvSpec{1, 4, 4, 128}}, {2, KvSpec{2, 8, 16, 0}}};
  const MemoryLayout layout(specs, {kernels::KvType::kF16, kernels::KvType::kF32});
  ASSERT_EQ(layout.groups().size(), 2U);
  const size_t one = 2 * 64 * (8 * 2 + 16 * 4);
  EXPECT_EQ(layout.groups()[0].page_bytes, 2 * one);
  EXPECT_EQ(layout.groups()[1].page_bytes, 64U * (4 * 2 + 4 * 4));
  EXPECT_EQ(layout.kv()[2].k_offset, one);
  EXPECT_EQ(layout.kv_bytes_per_token(), (2 * one + 64 * 24) / 64);
}

TEST(Memory, ALongSequenceKeepsABoundedLogAndAtLeastHalfTheReach) {
  Memory memory(kHybrid, options());
  const size_t reach = memory.reach_rows();
  EXPECT_EQ(reach, 32U);
  const SequenceId sequence = memory.create();
  size_t length = 0;
  for (const size_t count : {1, 3, 100, 1, 1, 17, 16, 15, 200, 31, 33, 2}) {
    advance(memory, sequence, count);
    length += count;
    EXPECT_LE(*memory.reach(sequence), length - std::min(length, reach / 2)) << "after " << length;
  }
  for (size_t i = 0; i < 500; ++i) {
    advance(memory, sequence, 1);
    ++length;
    EXPECT_LE(*memory.reach(sequence), length - reach / 2);
    EXPECT_GE(*memory.reach(sequence) + reach + 1, length);
  }
  const size_t states = 3 * memory.layout().state_bytes();
  const size_t rows = 4 * memory.layout().row_page_bytes();
  const size_t pages = (length + 63) / 64 * memory.layout().groups()[0].page_bytes;
  EXPECT_LE(memory.pool().used_bytes(), states + rows + pages);
}

TEST(Memory, AForkCostsNothingUntilItRuns) {
  Memory memory(kHybrid, options());
  const SequenceId parent = memory.create();
  advance(memory, parent, 100);
  const size_t used = memory.pool().used_bytes();
  std::vector<SequenceId> children;
  for (int i = 0; i < 50; ++i) children.push_back(*memory.fork(parent, 100));
  EXPECT_EQ(memory.pool().used_bytes(), used);
  advance(memory, children[0], 1);
  const size_t one = memory.pool().used_bytes() - used;
  EXPECT_LE(one, memory.layout().groups()[0].page_bytes + memory.layout().row_page_bytes() +
                     2 * memory.layout().state_bytes());  // its own working state, and a base when one is due
  for (const SequenceId child : children) ASSERT_TRUE(memory.drop(child));
  EXPECT_EQ(memory.pool().used_bytes(), used);
}

TEST(Memory, AStepThatDoesNotFitChangesNothing) {
  Memory memory(kHybrid, options(60'000));
  const SequenceId first = memory.create();
  const SequenceId second = memory.create();
  advance(memory, first, 64);
  const size_t used = memory.pool().used_bytes();
  const std::vector<TokenId> tokens = count_up(2000);
  const BatchEntry batch[] = {{first, std::span(tokens).first(3), 0}, {second, tokens, 0}};
  auto step = memory.prepare(batch);
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().kind, ErrorKind::kOutOfBudget);
  EXPECT_NE(step.error().message.find("sequence 2 needs"), std::string::npos) << step.error().message;
  EXPECT_NE(step.error().message.find("60000 bytes of the memory budget"), std::string::npos);
  EXPECT_EQ(memory.pool().used_bytes(), used);
  EXPECT_EQ(*memory.length(first), 64U);
  EXPECT_EQ(*memory.length(second), 0U);
  advance(memory, first, 3);
  EXPECT_EQ(*memory.length(first), 67U);
}

TEST(Memory, TheBudgetIsNeverExceeded) {
  Memory memory(kHybrid, options(200'000));
  std::vector<SequenceId> sequences;
  for (size_t i = 0; i < 400; ++i) {
    if (i % 7 == 0) sequences.push_back(memory.create());
    const std::vector<TokenId> tokens = count_up(1 + i * 13 % 40);
    const BatchEntry entry{sequences[i * 5 % sequences.size()], tokens, 0};
    auto step = memory.prepare({&entry, 1});
    if (step) step->commit();
    EXPECT_LE(memory.pool().used_bytes(), memory.pool().budget_bytes());
  }
  for (const SequenceId sequence : sequences) ASSERT_TRUE(memory.drop(sequence));
  EXPECT_EQ(memory.pool().used_bytes(), 0U);
}

TEST(Memory, RefusesWhatMakesNoSense) {
  Memory memory(kHybrid, options());
  const SequenceId sequence = memory.create();
  advance(memory, sequence, 5);
  EXPECT_EQ(memory.fork(99, 0).error().message, "there is no sequence 99");
  EXPECT_EQ(memory.fork(sequence, 6).error().message, "sequence 1 cannot be forked at 6: it has 5 tokens");
  EXPECT_EQ(memory.truncate(sequence, 6).error().message, "sequence 1 cannot be cut to 6: it has 5 tokens");
  EXPECT_EQ(memory.drop(99).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(memory.length(99).error().kind, ErrorKind::kNotFound);
  const std::vector<TokenId> tokens = count_up(2);
  const BatchEntry twice[] = {{sequence, tokens, 0}, {sequence, tokens, 0}};
  EXPECT_EQ(memory.prepare(twice).error().message, "sequence 1 stands in the batch twice");
  const BatchEntry empty{sequence, {}, 0};
  EXPECT_EQ(memory.prepare({&empty, 1}).error().message, "sequence 1 has no new tokens");
  const BatchEntry greedy{sequence, tokens, 3};
  EXPECT_FALSE(memory.prepare({&greedy, 1}));
  EXPECT_EQ(*memory.length(sequence), 5U);
}

TEST(Memory, SequencesAreNotTouchedDuringAStep) {
  Memory memory(kHybrid, options());
  const SequenceId sequence = memory.create();
  advance(memory, sequence, 5);
  const std::vector<TokenId> tokens = count_up(2);
  const BatchEntry entry{sequence, tokens, 0};
  auto step = memory.prepare({&entry, 1});
  ASSERT_TRUE(step);
  EXPECT_EQ(memory.truncate(sequence, 1).error().kind, ErrorKind::kInvalidState);
  EXPECT_EQ(memory.fork(sequence, 1).error().kind, ErrorKind::kInvalidState);
  EXPECT_EQ(memory.drop(sequence).error().kind, ErrorKind::kInvalidState);
  step->commit();
  EXPECT_EQ(*memory.length(sequence), 7U);
}

TEST(Memory, TokensInTheMiddleAreRefusedWithTheReasonAndThoseAtTheEndCut) {
  for (const auto& specs : {kHybrid, kAttention}) {
    Memory memory(specs, options());
    const SequenceId sequence = memory.create();
    advance(memory, sequence, 20);
    const auto middle = memory.remove(sequence, 5, 9);
    ASSERT_FALSE(middle);
    EXPECT_EQ(middle.error().kind, ErrorKind::kUnsupported);
    const std::string_view reason = is_hybrid(specs) ? "recurrent state" : "keys and values";
    EXPECT_NE(middle.error().message.find(reason), std::string::npos) << middle.error().message;
    EXPECT_EQ(*memory.length(sequence), 20U);
    EXPECT_EQ(*memory.remove(sequence, 7, 7), 20U);
    EXPECT_EQ(*memory.remove(sequence, 18, 20), 18U);
    EXPECT_EQ(memory.remove(sequence, 3, 19).error().kind, ErrorKind::kInvalidInput);
    EXPECT_EQ(memory.remove(sequence, 4, 3).error().kind, ErrorKind::kInvalidInput);
    EXPECT_EQ(memory.remove(sequence + 1, 0, 0).error().kind, ErrorKind::kNotFound);
  }
}

TEST(Memory, TotalsSayWhatWasReusedAndWhatWasNot) {
  Memory memory(kHybrid, options());
  const std::vector<TokenId> prompt = count_up(100);
  const auto cold = memory.open(prompt);
  advance(memory, cold->sequence, 100);
  std::vector<TokenId> other = prompt;
  other.resize(60);
  other.push_back(7000);
  ASSERT_TRUE(memory.open(prompt));
  ASSERT_TRUE(memory.open(other));
  const MemoryUse use = memory.use();
  EXPECT_EQ(use.totals.prompts, 3U);
  EXPECT_EQ(use.totals.prompt_tokens, 261U);
  EXPECT_EQ(use.totals.missed_tokens[static_cast<size_t>(Miss::kCold)], 99U);
  uint64_t missed = 0;
  for (const uint64_t tokens : use.totals.missed_tokens) missed += tokens;
  EXPECT_EQ(missed + use.totals.reused_tokens + 3, use.totals.prompt_tokens);
  EXPECT_GT(use.totals.kept, 0U);
  EXPECT_EQ(use.page_bytes + use.window_page_bytes + use.state_bytes + use.row_bytes,
            use.sequence_bytes + use.checkpoint_bytes);
  const size_t checkpoints = memory.tree().size();
  memory.evict(SIZE_MAX);
  EXPECT_EQ(memory.totals().evicted, checkpoints);
}

TEST(Memory, ACacheThatCanKeepNothingSaysSoOnce) {
  std::vector<std::string> warnings;
  set_log_sink([&](LogLevel level, std::string_view, std::string_view message) {
    if (level == LogLevel::kWarning) warnings.emplace_back(message);
  });
  {
    size_t running = 0;
    {
      Memory memory(kHybrid, options());
      advance(memory, memory.create(), 100);
      running = memory.pool().used_bytes();
    }
    MemoryOptions small = options(running);
    small.first_checkpoint = 20;
    Memory memory(kHybrid, small);
    for (int i = 0; i < 3; ++i) {
      const SequenceId sequence = memory.create();
      advance(memory, sequence, 100);
      ASSERT_TRUE(memory.drop(sequence));
    }
  }
  set_log_sink({});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("no room for a checkpoint"), std::string::npos);
}

}  // namespace
}  // namespace oxbow::memory
