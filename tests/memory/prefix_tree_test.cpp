// Which checkpoints are kept, found and evicted; states and pages are never looked at.

#include "memory/prefix_tree.h"

#include <gtest/gtest.h>

#include "memory/memory.h"

namespace oxbow::memory {
namespace {

using Tokens = std::vector<TokenId>;

const std::vector<StateSpec> kHybrid = {{0, RecurrentSpec{4000, 100}}, {1, KvSpec{1, 16, 16, 0}}};

Tokens tokens(size_t count, uint32_t seed) {
  Tokens ids(count);
  for (TokenId& id : ids) {
    seed = seed * 1664525 + 1013904223;
    id = static_cast<TokenId>(seed >> 16);
  }
  return ids;
}

Tokens operator+(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void advance(Memory& memory, SequenceId sequence, std::span<const TokenId> ids) {
  const BatchEntry entry{sequence, ids, 0};
  auto step = memory.prepare({&entry, 1});
  ASSERT_TRUE(step) << step.error().message;
  step->commit();
}

Opened ask(Memory& memory, const Tokens& prompt, std::span<const size_t> boundaries = {}) {
  const auto opened = memory.open(prompt, boundaries);
  EXPECT_TRUE(opened);
  advance(memory, opened->sequence, std::span(prompt).subspan(opened->reused));
  EXPECT_TRUE(memory.drop(opened->sequence));
  return *opened;
}

MemoryOptions options(size_t budget_bytes, size_t first_checkpoint = 0) {
  MemoryOptions options{budget_bytes, 1, {}};
  options.first_checkpoint = first_checkpoint;
  return options;
}

TEST(PrefixTree, SplittingAnEdgeLosesNoCheckpoint) {
  Memory memory(kHybrid, options(size_t{64} << 20));
  const Tokens trunk = tokens(400, 1);
  const size_t boundaries[] = {100, 200, 300};
  ask(memory, trunk, boundaries);
  for (const size_t cut : {350, 250, 150, 50}) {
    const Tokens branch =
        Tokens(trunk.begin(), trunk.begin() + static_cast<ptrdiff_t>(cut)) + tokens(40, cut);
    EXPECT_EQ(ask(memory, branch).reused, cut / 100 * 100) << cut;
    EXPECT_EQ(ask(memory, branch + tokens(5, cut + 1)).reused, branch.size() - 1) << cut;
  }
  for (const size_t boundary : boundaries) {
    const Tokens again =
        Tokens(trunk.begin(), trunk.begin() + static_cast<ptrdiff_t>(boundary)) + tokens(30, 77);
    EXPECT_EQ(ask(memory, again).reused, boundary);
  }
}

TEST(PrefixTree, PromptsSeenOnceDoNotFlushASharedPrefix) {
  Memory memory(kHybrid, options(size_t{2} << 20));
  const Tokens shared = tokens(300, 1);
  for (uint32_t i = 0; i < 5; ++i) ask(memory, shared + tokens(20, 100 + i));
  ASSERT_EQ(ask(memory, shared + tokens(20, 200)).reused, 300U);
  for (uint32_t i = 0; i < 150; ++i) ask(memory, tokens(150, 1000 + i));
  EXPECT_EQ(ask(memory, shared + tokens(20, 300)).reused, 300U);
}

TEST(PrefixTree, WhatIsUsedAgainOutlivesWhatIsNot) {
  Memory memory(kHybrid, options(size_t{1} << 20));
  const Tokens used = tokens(200, 1);
  const Tokens unused = tokens(200, 2);
  ask(memory, used);
  ask(memory, unused);
  for (uint32_t i = 0; i < 300; ++i) {
    ask(memory, tokens(100, 50 + i));
    if (i % 4 == 0) ask(memory, used + tokens(3, 500 + i));
  }
  EXPECT_GE(ask(memory, used + tokens(3, 900)).reused, 199U);
  EXPECT_LT(ask(memory, unused + tokens(3, 901)).reused, 199U);
}

TEST(PrefixTree, TracesOfWhatIsGoneAreBounded) {
  Memory memory(kHybrid, options(size_t{400} << 10));
  for (uint32_t i = 0; i < 3000; ++i) ask(memory, tokens(60, i));
  EXPECT_LE(memory.tree().token_count(), size_t{2000} * 60);
}

TEST(PrefixTree, CheckpointsCloseTogetherShareTheirState) {
  Memory memory(kHybrid, options(size_t{64} << 20));
  const Tokens prompt = tokens(200, 1);
  const size_t boundaries[] = {190, 193, 196};
  ask(memory, prompt, boundaries);
  EXPECT_LE(memory.use().checkpoint_bytes, 2 * memory.layout().state_bytes() +
                                               4 * memory.layout().groups()[0].page_bytes +
                                               3 * memory.layout().row_page_bytes());
  for (const size_t boundary : boundaries) {
    const Tokens other =
        Tokens(prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(boundary)) + tokens(9, 5);
    EXPECT_EQ(ask(memory, other).reused, boundary);
  }
}

TEST(PrefixTree, ATruncatedSequenceResumesAtTheNearestCheckpoint) {
  Memory memory(kHybrid, options(size_t{64} << 20, 64));
  const Tokens prompt = tokens(1000, 1);
  const auto opened = memory.open(prompt);
  ASSERT_TRUE(opened);
  advance(memory, opened->sequence, prompt);
  for (const size_t position : {990, 700, 500, 300, 150, 70}) {
    const auto held = memory.truncate(opened->sequence, position);
    ASSERT_TRUE(held);
    EXPECT_GE(*held * 3, position * 2 - 3)
        << "more than a third of " << position << " must be evaluated again";
    advance(memory, opened->sequence, std::span(prompt).subspan(*held, position - *held + 1));
  }
}

TEST(WindowPages, GoWhenNothingInReachSeesThem) {
  const std::vector<StateSpec> windowed = {{0, KvSpec{1, 16, 16, 128}}, {1, KvSpec{1, 16, 16, 0}}};
  Memory memory(windowed, options(size_t{64} << 20));
  const SequenceId sequence = memory.create();
  for (size_t i = 0; i < 100; ++i) advance(memory, sequence, tokens(50, static_cast<uint32_t>(i)));
  const size_t full = memory.layout().groups()[1].page_bytes * (5000 / kPagePositions + 1);
  const size_t window = memory.layout().groups()[0].page_bytes * (128 / kPagePositions + 3);
  EXPECT_LE(memory.pool().used_bytes(), full + window);
  const size_t reach = *memory.reach(sequence);
  EXPECT_LE(reach, 5000U - 16);
  EXPECT_EQ(*memory.truncate(sequence, reach), reach);
}

}  // namespace
}  // namespace oxbow::memory
