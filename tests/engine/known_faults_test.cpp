// Faults that engines with recurrent state are known for, each as a test: prompts that must be reused, and
// states that must never be.

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/engine.h"
#include "engine/harness.h"

namespace oxbow::engine {
namespace {

using oxbow::testing::load_model;
using oxbow::testing::some_tokens;
using oxbow::testing::source_path;

using Tokens = std::vector<TokenId>;
using Logits = std::vector<float>;

Tokens operator+(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A request as a server handles it: open, evaluate the rest in steps, answer a few tokens, keep, drop.
struct Request {
  memory::Opened opened;
  Logits logits;  // after the prompt
  Tokens answer;
  bool refused = false;
};

class KnownFaults : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { model_ = load_model(source_path("tests/golden/" + GetParam() + ".gguf")); }

  std::unique_ptr<Engine> make_engine(size_t budget = size_t{512} << 20, size_t first_checkpoint = 256) {
    EngineOptions options;
    options.threads = 2;
    options.max_step_tokens = 256;
    options.budget_bytes = budget;
    options.first_checkpoint = first_checkpoint;
    auto engine = Engine::create(model_, options);
    EXPECT_TRUE(engine) << engine.error().message;
    return std::move(*engine);
  }

  Tokens tokens(size_t count, uint64_t seed) const { return some_tokens(count, model_->vocabulary(), seed); }

  static Request ask(Engine& engine, const Tokens& prompt, std::span<const size_t> boundaries = {},
                     size_t answer_tokens = 0, std::string_view partition = {}) {
    Request request;
    auto opened = engine.memory().open(prompt, boundaries, partition);
    EXPECT_TRUE(opened);
    request.opened = *opened;
    const auto evaluate = [&](std::span<const TokenId> part) {
      const StepEntry entry{opened->sequence, part, Outputs::kLast};
      auto logits = engine.step({&entry, 1});
      if (!logits) {
        request.refused = true;
        return;
      }
      request.logits.assign(logits->begin(), logits->end());
    };
    for (size_t done = opened->reused; done < prompt.size() && !request.refused;) {
      const size_t count = std::min(engine.options().max_step_tokens, prompt.size() - done);
      evaluate(std::span(prompt).subspan(done, count));
      done += count;
    }
    const Logits after_prompt = request.logits;
    for (size_t i = 0; i < answer_tokens && !request.refused; ++i) {
      const auto best = std::ranges::max_element(request.logits) - request.logits.begin();
      request.answer.push_back(static_cast<TokenId>(best));
      evaluate({&request.answer.back(), 1});
    }
    request.logits = after_prompt;
    EXPECT_TRUE(engine.memory().keep(opened->sequence));
    EXPECT_TRUE(engine.memory().drop(opened->sequence));
    return request;
  }

  Logits fresh(const Tokens& prompt) {
    auto engine = make_engine();
    return ask(*engine, prompt).logits;
  }

  std::shared_ptr<const model::Model> model_;
};

TEST_P(KnownFaults, TheSamePromptTwiceEvaluatesItsLastTokenOnceWhateverItsLength) {
  auto engine = make_engine();
  for (size_t pages : {1, 2, 5}) {
    for (int extra : {-1, 0, 1, 2}) {
      const size_t length = pages * 64 + static_cast<size_t>(extra);
      const Tokens prompt = tokens(length, length);
      const Request first = ask(*engine, prompt);
      const Request second = ask(*engine, prompt);
      EXPECT_EQ(second.opened.matched, length);
      EXPECT_EQ(second.opened.reused, length - 1) << length;
      EXPECT_EQ(second.opened.miss, memory::Miss::kNone);
      EXPECT_EQ(first.logits, second.logits) << length;
      EXPECT_EQ(first.logits, fresh(prompt)) << length;
    }
  }
}

TEST_P(KnownFaults, RequestsWithACommonPrefixReuseItWhateverTheirSuffixes) {
  auto engine = make_engine();
  const Tokens prefix = tokens(1500, 1);
  size_t request = 0;
  for (size_t suffix : {40, 1296, 130, 611, 64, 900}) {
    const Tokens prompt = prefix + tokens(suffix, 100 + suffix);
    const Request answer = ask(*engine, prompt, {}, 3);
    const size_t least = request == 0 ? 0 : request == 1 ? 750 : 1500 - 16;
    EXPECT_GE(answer.opened.reused, least) << "suffix of " << suffix;
    EXPECT_EQ(answer.logits, fresh(prompt));
    ++request;
  }
}

TEST_P(KnownFaults, ShortPromptsAreReusedToo) {
  auto engine = make_engine();
  for (size_t length : {32, 50, 100, 200, 300, 500}) {
    const Tokens prefix = tokens(length, 7 * length);
    ask(*engine, prefix + tokens(20, length + 1));
    ask(*engine, prefix + tokens(25, length + 2));
    const Tokens prompt = prefix + tokens(22, length + 3);
    const Request third = ask(*engine, prompt);
    EXPECT_GE(third.opened.reused, length) << length;
    EXPECT_EQ(third.logits, fresh(prompt)) << length;
  }
}

TEST_P(KnownFaults, ThinkingTextThatIsDroppedFromTheLastTurnCostsOnlyThatTurn) {
  auto engine = make_engine();
  const Tokens turn = tokens(400, 1);
  const Tokens generation_prompt = tokens(4, 2);
  const size_t boundaries[] = {turn.size()};
  const Request first = ask(*engine, turn + generation_prompt, boundaries, 60);
  const Tokens answer_without_thoughts(first.answer.end() - 20, first.answer.end());
  const Tokens next = turn + generation_prompt + answer_without_thoughts + tokens(30, 3);
  const Request second = ask(*engine, next);
  EXPECT_GE(second.opened.reused, turn.size());
  EXPECT_EQ(second.logits, fresh(next));
  // A template that writes the generation prompt otherwise in past turns, too.
  const Tokens other = turn + tokens(3, 77) + answer_without_thoughts + tokens(30, 3);
  const Request third = ask(*engine, other);
  EXPECT_GE(third.opened.reused, turn.size());
  EXPECT_EQ(third.logits, fresh(other));
}

TEST_P(KnownFaults, AForkOfAForkMayBeWrittenByBoth) {
  auto engine = make_engine();
  memory::Memory& memory = engine->memory();
  const Tokens prompt = tokens(100, 1);
  const auto run = [&](SequenceId sequence, const Tokens& part) {
    const StepEntry entry{sequence, part, Outputs::kLast};
    const auto logits = engine->step({&entry, 1});
    EXPECT_TRUE(logits);
    return Logits(logits->begin(), logits->end());
  };
  const SequenceId root = memory.create();
  run(root, prompt);
  const SequenceId child = *memory.fork(root, 100);
  const SequenceId grandchild = *memory.fork(child, 100);
  const Tokens a = tokens(3, 11);
  const Tokens b = tokens(3, 12);
  const Tokens c = tokens(3, 13);
  EXPECT_EQ(run(grandchild, a), fresh(prompt + a));
  EXPECT_EQ(run(child, b), fresh(prompt + b));
  EXPECT_EQ(run(root, c), fresh(prompt + c));
}

TEST_P(KnownFaults, AStepMayLeaveOutTheSequenceInTheMiddle) {
  auto engine = make_engine();
  memory::Memory& memory = engine->memory();
  SequenceId ids[3];
  Tokens held[3];
  for (size_t i = 0; i < 3; ++i) {
    ids[i] = memory.create();
    held[i] = tokens(20 + i, 30 + i);
    const StepEntry entry{ids[i], held[i], Outputs::kNone};
    ASSERT_TRUE(engine->step({&entry, 1}));
  }
  const Tokens next = tokens(1, 99);
  const StepEntry entries[] = {{ids[2], next, Outputs::kNone}, {ids[0], next, Outputs::kLast}};
  const auto logits = engine->step(entries);
  ASSERT_TRUE(logits);
  EXPECT_EQ(Logits(logits->begin(), logits->end()), fresh(held[0] + next));
  const StepEntry middle{ids[1], next, Outputs::kLast};
  const auto later = engine->step({&middle, 1});
  ASSERT_TRUE(later);
  EXPECT_EQ(Logits(later->begin(), later->end()), fresh(held[1] + next));
}

TEST_P(KnownFaults, AStateAt192TokensIsNotFoundUnderAKeyOf96) {
  auto engine = make_engine();
  const Tokens prompt = tokens(192, 1);
  ask(*engine, prompt);
  const Tokens half(prompt.begin(), prompt.begin() + 96);
  const Request request = ask(*engine, half);
  EXPECT_EQ(request.opened.matched, 96U);
  EXPECT_LE(request.opened.reused, 95U);
  EXPECT_EQ(request.logits, fresh(half));
}

TEST_P(KnownFaults, AnAbortedRequestLeavesNothingToTheNext) {
  memory::MemoryOptions options{size_t{256} << 20, 0, {}};
  options.first_checkpoint = 32;
  options.poison = true;
  oxbow::testing::Runner runner(model_, 2, options);
  const Tokens prompt = tokens(90, 1);
  const auto reference = oxbow::testing::Runner(model_, 2, memory::KvTypes{}).run(prompt);
  for (int round = 0; round < 4; ++round) {
    const SequenceId aborted = runner.memory().create();
    runner.append(aborted, tokens(50, 5));
    const Tokens more = tokens(20, 6);
    const memory::BatchEntry entry{aborted, more, 0};
    runner.step({&entry, 1}, {}, true);
    ASSERT_TRUE(runner.memory().drop(aborted));
    const auto opened = runner.memory().open(prompt);
    ASSERT_TRUE(opened);
    const auto rows = runner.append(opened->sequence, std::span(prompt).subspan(opened->reused));
    EXPECT_TRUE(oxbow::testing::same_bits(rows.back(), reference.back()));
    ASSERT_TRUE(runner.memory().drop(opened->sequence));
  }
}

TEST_P(KnownFaults, ALongConversationEvaluatesOnlyWhatIsNew) {
  auto engine = make_engine();
  const size_t turn_tokens = GetParam() == "granitehybrid-dense" ? 2970 : 300;  // 30,000 tokens in the end
  Tokens conversation = tokens(50, 1);
  for (size_t turn = 0; turn < 10; ++turn) {
    const size_t before = conversation.size();
    const Tokens message = tokens(turn_tokens, 100 + turn);
    const Tokens prompt = conversation + message;
    const size_t boundaries[] = {prompt.size() - 4};
    const Request request = ask(*engine, prompt, boundaries, 30);
    if (turn > 0) {
      EXPECT_GE(request.opened.reused + 64, before) << "turn " << turn;
    }
    conversation = prompt + request.answer;
  }
}

TEST_P(KnownFaults, ABudgetTooSmallForACheckpointStillAnswers) {
  const memory::MemoryLayout layout(model_->state_specs(), {});
  size_t budget = model_->scratch_bytes(256, 1, 2) + model_->vocabulary() * sizeof(float);
  budget +=
      5 * (layout.state_bytes() + 4096) + 2 * layout.state_bytes() + 10 * (layout.row_page_bytes() + 4096);
  for (const auto& group : layout.groups()) budget += 6 * (group.page_bytes + 4096);
  auto engine = make_engine(budget);
  const Tokens prompt = tokens(200, 3);
  for (int i = 0; i < 3; ++i) {
    const Request request = ask(*engine, prompt);
    ASSERT_FALSE(request.refused);
    EXPECT_EQ(request.logits, fresh(prompt));
    const Tokens other = tokens(220, 50 + static_cast<uint64_t>(i));
    EXPECT_FALSE(ask(*engine, other).refused);
  }
}

TEST_P(KnownFaults, PartitionsDoNotSeeEachOthersPrompts) {
  auto engine = make_engine();
  const Tokens prompt = tokens(300, 3);
  ask(*engine, prompt, {}, 0, "alice");
  EXPECT_EQ(ask(*engine, prompt, {}, 0, "bob").opened.matched, 0U);
  EXPECT_EQ(ask(*engine, prompt, {}, 0, "").opened.matched, 0U);
  EXPECT_EQ(ask(*engine, prompt, {}, 0, "alice").opened.matched, 300U);
}

TEST_P(KnownFaults, WhatWasEvictedIsSaidToBe) {
  auto engine = make_engine();
  const Tokens prompt = tokens(300, 3);
  EXPECT_EQ(ask(*engine, prompt).opened.miss, memory::Miss::kCold);
  EXPECT_EQ(ask(*engine, prompt + tokens(9, 1)).opened.miss, memory::Miss::kDiverged);
  engine->memory().evict(SIZE_MAX);
  const Request request = ask(*engine, prompt);
  EXPECT_EQ(request.opened.reused, 0U);
  EXPECT_EQ(request.opened.miss, memory::Miss::kEvicted);
}

INSTANTIATE_TEST_SUITE_P(Models, KnownFaults,
                         ::testing::Values("granitehybrid-dense", "gemma3", "qwen35moe", "jamba", "lfm2moe"),
                         [](const auto& model) { return oxbow::testing::test_name(model.param); });

}  // namespace
}  // namespace oxbow::engine
