// Stores that are slow hold up nobody, and what they hold gives way.

#include "engine/recall.h"

#include <gtest/gtest.h>

#include "engine/gated_store.h"
#include "engine/harness.h"
#include "engine/session.h"

namespace oxbow::engine {
namespace {

using oxbow::testing::GatedStore;
using oxbow::testing::Gates;
using oxbow::testing::load_model;
using oxbow::testing::some_tokens;
using oxbow::testing::source_path;
using std::chrono::milliseconds;
using std::chrono::seconds;

class SlowStore : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { model_ = load_model(source_path("tests/golden/" + GetParam() + ".gguf")); }

  EngineOptions options(size_t budget_bytes = size_t{256} << 20) const {
    EngineOptions options;
    options.threads = 1;
    options.max_step_tokens = 128;
    options.budget_bytes = budget_bytes;
    return options;
  }
  std::unique_ptr<Engine> make_engine(const EngineOptions& options, bool store = true) const {
    auto engine = Engine::create(model_, options);
    EXPECT_TRUE(engine) << engine.error().message;
    if (store) (*engine)->add_store(std::make_unique<GatedStore>(gates_));
    return std::move(*engine);
  }
  std::vector<TokenId> tokens(size_t count, uint64_t seed) const {
    return some_tokens(count, model_->vocabulary(), seed);
  }
  std::vector<float> evaluate(Engine& engine, std::span<const TokenId> prompt) const {
    Session session(engine, 1 << 16);
    const auto result = session.prompt(prompt);
    EXPECT_TRUE(result) << result.error().message;
    return {session.logits().begin(), session.logits().end()};
  }
  // Without asking the store; an empty row for a request that did not fit.
  std::vector<float> run(Engine& engine, std::span<const TokenId> prompt) const {
    const auto opened = engine.memory().open(prompt);
    std::vector<float> logits;
    for (size_t done = opened->reused; done < prompt.size();) {
      const size_t count = std::min<size_t>(100, prompt.size() - done);
      const StepEntry entry{opened->sequence, prompt.subspan(done, count), Outputs::kLast};
      const auto step = engine.step({&entry, 1});
      if (!step) {
        logits.clear();
        break;
      }
      logits.assign(step->begin(), step->end());
      done += count;
    }
    EXPECT_TRUE(engine.memory().drop(opened->sequence));
    return logits;
  }
  // Puts the prompt's checkpoints into the store.
  void store(std::span<const TokenId> prompt) const { evaluate(*make_engine(options()), prompt); }

  static bool finish(Recall& recall) {
    for (int i = 0; i < 2000 && !recall.poll(); ++i) recall.wait_for(milliseconds(5));
    return recall.over();
  }

  std::shared_ptr<const model::Model> model_;
  std::shared_ptr<Gates> gates_ = std::make_shared<Gates>();
};

TEST_P(SlowStore, ARecallGoesOnBesideStepsAndBringsTheSameBits) {
  const std::vector<TokenId> prompt = tokens(2300, 1);  // two segments and a tail
  store(prompt);
  gates_->open_gets(false);
  auto engine = make_engine(options());
  auto recall = engine->start_recall(prompt, "");
  ASSERT_NE(recall, nullptr);
  EXPECT_FALSE(recall->poll());
  const std::vector<TokenId> other = tokens(40, 2);
  const memory::SequenceId sequence = engine->memory().create();
  for (size_t i = 0; i < other.size(); i += 10) {
    const StepEntry entry{sequence, std::span(other).subspan(i, 10), Outputs::kLast};
    ASSERT_TRUE(engine->step({&entry, 1}));
    EXPECT_FALSE(recall->poll());
  }
  gates_->open_gets(true);
  ASSERT_TRUE(finish(*recall));
  EXPECT_EQ(recall->admitted(), prompt.size() - 1);
  EXPECT_EQ(engine->memory().known(prompt, "").reused, prompt.size() - 1);
  const auto with_store = evaluate(*engine, prompt);
  EXPECT_EQ(with_store, evaluate(*make_engine(options(), false), prompt));
}

TEST_P(SlowStore, ObjectsOnTheirWayCountAgainstTheBudgetAndNoLonger) {
  const std::vector<TokenId> prompt = tokens(1100, 1);
  store(prompt);
  auto engine = make_engine(options());
  const size_t before = engine->memory().pool().used_bytes();
  gates_->open_gets(false);
  auto recall = engine->start_recall(prompt, "");
  gates_->open_gets(true);
  recall->wait_for(seconds(5));  // what is stored was found
  gates_->open_gets(false);
  ASSERT_FALSE(recall->poll());
  ASSERT_TRUE(recall->holds_memory());
  EXPECT_GE(engine->memory().pool().used_bytes(), before + engine->memory().layout().state_bytes());
  recall.reset();
  EXPECT_EQ(engine->memory().pool().used_bytes(), before);
  gates_->open_gets(true);
}

TEST_P(SlowStore, ARecallEndsWhenItsPatienceDoesAndWhenItIsDropped) {
  const std::vector<TokenId> prompt = tokens(300, 1);
  store(prompt);
  gates_->open_gets(false);
  auto engine = make_engine(options());
  auto recall = engine->start_recall(prompt, "", milliseconds(20));
  ASSERT_TRUE(finish(*recall));
  EXPECT_EQ(recall->admitted(), 0U);
  auto dropped = engine->start_recall(prompt, "");
  EXPECT_FALSE(dropped->poll());
  dropped.reset();
  evaluate(*make_engine(options(), false), prompt);
  gates_->open_gets(true);
}

TEST_P(SlowStore, WhatPartOfAPromptMemoryHasIsNotFetchedAgain) {
  const std::vector<TokenId> prompt = tokens(3200, 1);
  store(prompt);
  auto engine = make_engine(options());
  const auto first = std::span(prompt).first(2100);
  evaluate(*engine, first);
  const size_t before = gates_->gets_done();
  auto recall = engine->start_recall(prompt, "");
  ASSERT_TRUE(finish(*recall));
  EXPECT_EQ(recall->admitted(), prompt.size() - 1);
  const auto segments = gates_->gets_done() - before - 1;
  bool has_pages = false;
  for (const auto& group : engine->memory().layout().groups()) has_pages |= group.window_tokens == 0;
  EXPECT_EQ(segments, has_pages ? 1U : 0U);
  EXPECT_EQ(evaluate(*engine, prompt), evaluate(*make_engine(options(), false), prompt));
}

// Bytes that one prompt of this length holds while it runs, and its checkpoints.
size_t small_budget(const std::shared_ptr<const model::Model>& model, const EngineOptions& options,
                    std::span<const TokenId> prompt) {
  auto engine = Engine::create(model, options);
  Session session(**engine, 1 << 16);
  EXPECT_TRUE(session.prompt(prompt));
  (*engine)->memory().evict(SIZE_MAX);
  return (*engine)->memory().pool().used_bytes();
}

TEST_P(SlowStore, WhatWaitsToBeWrittenMakesNoRequestFail) {
  const size_t budget = small_budget(model_, options(), tokens(600, 1)) * 5 / 4;
  auto plain = make_engine(options(budget), false);
  auto engine = make_engine(options(budget));
  gates_->open_puts(false);
  size_t most_waiting = 0;
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    const std::vector<TokenId> prompt = tokens(600 - seed % 5 * 100, seed);
    const auto without = run(*plain, prompt);
    ASSERT_FALSE(without.empty()) << "the test needs prompts that fit";
    ASSERT_EQ(run(*engine, prompt), without) << "prompt " << seed;
    EXPECT_LE(engine->memory().pool().used_bytes(), budget);
    most_waiting = std::max<size_t>(most_waiting, engine->tiers()[0]->queue_statistics().objects);
  }
  EXPECT_GT(most_waiting, 0U);
  EXPECT_GT(engine->tiers()[0]->queue_statistics().given_up, 0U);
  EXPECT_GT(gates_->puts_begun(), 0U);
  gates_->open_puts(true);
}

TEST_P(SlowStore, ARecallGivesWayToARunningSequence) {
  const std::vector<TokenId> prompt = tokens(600, 1);
  store(prompt);
  const size_t budget = small_budget(model_, options(), prompt) * 5 / 4;
  auto engine = make_engine(options(budget));
  gates_->open_gets(false);
  auto recall = engine->start_recall(prompt, "");
  gates_->open_gets(true);
  recall->wait_for(seconds(5));
  gates_->open_gets(false);
  ASSERT_FALSE(recall->poll());
  EXPECT_FALSE(run(*engine, tokens(600, 9)).empty());
  gates_->open_gets(true);
  ASSERT_TRUE(finish(*recall));
  EXPECT_LE(engine->memory().pool().used_bytes(), budget);
}

TEST_P(SlowStore, ACheckpointOfTheSpacingIsStoredOnceItHasServed) {
  auto engine = make_engine(options());
  const std::vector<TokenId> prompt = tokens(1200, 1);
  evaluate(*engine, prompt);
  // Leaves the prompt where only the spacing kept something: 256 of 260.
  std::vector<TokenId> edited = prompt;
  edited.resize(260);
  for (const TokenId token : tokens(30, 7)) edited.push_back(token);
  evaluate(*engine, edited);
  engine.reset();  // writes what waits
  auto again = make_engine(options());
  std::vector<TokenId> third(prompt.begin(), prompt.begin() + 258);
  for (const TokenId token : tokens(30, 8)) third.push_back(token);
  auto recall = again->start_recall(third, "");
  ASSERT_TRUE(finish(*recall));
  EXPECT_EQ(recall->admitted(), 256U);
}

INSTANTIATE_TEST_SUITE_P(Models, SlowStore,
                         ::testing::Values("granitehybrid-dense", "gemma3", "mamba2", "qwen35moe"),
                         [](const auto& model) { return oxbow::testing::test_name(model.param); });

}  // namespace
}  // namespace oxbow::engine
