#include "engine/session.h"

#include <gtest/gtest.h>

#include "engine/harness.h"

namespace oxbow::engine {
namespace {

using oxbow::testing::load_model;
using oxbow::testing::some_tokens;
using oxbow::testing::source_path;

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    model_ = load_model(source_path("tests/golden/granitehybrid-dense.gguf"));
    EngineOptions options;
    options.threads = 2;
    options.max_step_tokens = 32;
    options.budget_bytes = size_t{256} << 20;
    auto engine = Engine::create(model_, options);
    ASSERT_TRUE(engine) << engine.error().message;
    engine_ = std::move(*engine);
  }

  std::vector<float> fresh_logits(std::span<const TokenId> tokens) {
    Session session(*engine_, 4096);
    EXPECT_TRUE(session.prompt(tokens));
    return {session.logits().begin(), session.logits().end()};
  }

  std::shared_ptr<const model::Model> model_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(SessionTest, ALaterPromptReusesTheCommonPrefixWithTheSameBits) {
  Session session(*engine_, 4096);
  std::vector<TokenId> tokens = some_tokens(90, model_->vocabulary(), 3);
  auto first = session.prompt(tokens);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->reused, 0U);
  const std::vector<TokenId> more = some_tokens(40, model_->vocabulary(), 4);
  tokens.insert(tokens.end(), more.begin(), more.end());
  auto second = session.prompt(tokens);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->matched, 90U);
  EXPECT_EQ(second->reused, 90U);
  EXPECT_EQ(std::vector<float>(session.logits().begin(), session.logits().end()), fresh_logits(tokens));
}

TEST_F(SessionTest, AnEditNearTheEndEvaluatesOnlyWhatFollows) {
  Session session(*engine_, 4096);
  std::vector<TokenId> tokens = some_tokens(90, model_->vocabulary(), 3);
  ASSERT_TRUE(session.prompt(tokens));
  tokens[80] = (tokens[80] + 1) % static_cast<TokenId>(model_->vocabulary());
  auto edited = session.prompt(tokens);
  ASSERT_TRUE(edited);
  EXPECT_EQ(edited->matched, 80U);
  EXPECT_EQ(edited->reused, 80U);
  EXPECT_EQ(std::vector<float>(session.logits().begin(), session.logits().end()), fresh_logits(tokens));
}

TEST_F(SessionTest, TheSamePromptAgainEvaluatesOneToken) {
  Session session(*engine_, 4096);
  const std::vector<TokenId> tokens = some_tokens(70, model_->vocabulary(), 5);
  ASSERT_TRUE(session.prompt(tokens));
  const std::vector<float> logits(session.logits().begin(), session.logits().end());
  auto again = session.prompt(tokens);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->matched, 70U);
  EXPECT_EQ(again->reused, 69U);
  EXPECT_EQ(std::vector<float>(session.logits().begin(), session.logits().end()), logits);
}

TEST_F(SessionTest, StopsBetweenStepsAndGoesOnLater) {
  Session session(*engine_, 4096);
  const std::vector<TokenId> tokens = some_tokens(100, model_->vocabulary(), 6);
  size_t calls = 0;
  auto stopped = session.prompt(tokens, [&](size_t, size_t) { return ++calls <= 2; });
  ASSERT_TRUE(stopped);
  EXPECT_TRUE(stopped->stopped);
  EXPECT_EQ(session.tokens().size(), 64U);
  auto finished = session.prompt(tokens);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->reused, 64U);
  EXPECT_EQ(std::vector<float>(session.logits().begin(), session.logits().end()), fresh_logits(tokens));
}

TEST_F(SessionTest, RefusesWhatDoesNotFitTheContext) {
  Session session(*engine_, 50);
  const std::vector<TokenId> tokens = some_tokens(51, model_->vocabulary(), 6);
  auto long_prompt = session.prompt(tokens);
  ASSERT_FALSE(long_prompt);
  EXPECT_EQ(long_prompt.error().message, "the prompt has 51 tokens, the context holds 50");
  ASSERT_TRUE(session.prompt(std::span(tokens).first(49)));
  ASSERT_TRUE(session.append(1));
  EXPECT_TRUE(session.is_full());
  auto full = session.append(1);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, ErrorKind::kOutOfBudget);
  EXPECT_EQ(session.tokens().size(), 50U);
  EXPECT_FALSE(session.prompt({}));
}

TEST_F(SessionTest, ATokenOutsideTheVocabularyIsRefused) {
  Session session(*engine_, 50);
  for (const TokenId bad : {-1, 512, 1 << 30}) {
    const std::vector<TokenId> tokens = {1, bad};
    auto prompt = session.prompt(tokens);
    ASSERT_FALSE(prompt);
    EXPECT_NE(prompt.error().message.find("outside the vocabulary of 512 tokens"), std::string::npos);
  }
  EXPECT_EQ(session.tokens().size(), 0U);
}

TEST_F(SessionTest, ABudgetThatCannotHoldTheScratchIsAnError) {
  EngineOptions options;
  options.threads = 1;
  options.budget_bytes = 1000;
  auto engine = Engine::create(model_, options);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().kind, ErrorKind::kOutOfBudget);
}

TEST_F(SessionTest, RunningOutOfBudgetLeavesTheSessionUsable) {
  EngineOptions options;
  options.threads = 1;
  options.max_step_tokens = 32;
  options.budget_bytes = model_->scratch_bytes(32, 1, 1) + model_->vocabulary() * sizeof(float) + 600'000;
  auto small = Engine::create(model_, options);
  ASSERT_TRUE(small) << small.error().message;
  Session session(**small, 100'000);
  const std::vector<TokenId> tokens = some_tokens(20'000, model_->vocabulary(), 8);
  auto failed = session.prompt(tokens);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::kOutOfBudget);
  EXPECT_EQ(session.tokens().size() % 32, 0U);
  auto shorter = session.prompt(std::span(tokens).first(40));
  ASSERT_TRUE(shorter) << shorter.error().message;
  EXPECT_EQ(std::vector<float>(session.logits().begin(), session.logits().end()),
            fresh_logits(std::span(tokens).first(40)));
}

}  // namespace
}  // namespace oxbow::engine
