// Answers have the same bits whatever else runs and whatever becomes of their sequences.

#include "engine/scheduler_harness.h"

namespace oxbow::engine {
namespace {

using oxbow::testing::load_model;
using oxbow::testing::repository_goldens;
using oxbow::testing::some_tokens;
using oxbow::testing::test_name;

constexpr size_t kAnswer = 24;

class SchedulerBits : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { model_ = load_model(golden_file(GetParam())); }
  std::vector<TokenId> prompt(size_t number) const {
    return some_tokens(20 + 31 * number, model_->vocabulary(), number + 1);
  }
  std::shared_ptr<Recorder> alone(Request request) const { return Bench(model_).answer(std::move(request)); }

  std::shared_ptr<const model::Model> model_;
};

TEST_P(SchedulerBits, AreThoseOfAPlainSessionAloneAndInAFullBatch) {
  Bench bench(model_);
  std::vector<std::shared_ptr<Recorder>> together;
  for (size_t i = 0; i < 8; ++i) together.push_back(bench.add(greedy_request(prompt(i), kAnswer)));
  bench.run();
  for (size_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(together[i]->is_over());
    EXPECT_EQ(together[i]->reason(), FinishReason::kLength);
    EXPECT_TRUE(same_bits(together[i]->answers[0], alone(greedy_request(prompt(i), kAnswer))->answers[0]))
        << i;
  }
  EXPECT_EQ(together[3]->tokens(), plain_answer(model_, prompt(3), kAnswer));
  EXPECT_EQ(bench.sequences(), 0U);
}

TEST_P(SchedulerBits, AreTheSameFromTheCacheWithoutItAndAfterAnotherAnswer) {
  Bench bench(model_);
  const auto cold = bench.answer(greedy_request(prompt(4), kAnswer));
  const auto warm = bench.answer(greedy_request(prompt(4), kAnswer));
  Request off = greedy_request(prompt(4), kAnswer);
  off.cache_prompt = false;
  const auto without = bench.answer(std::move(off));
  EXPECT_EQ(cold->start->reused, 0U);
  EXPECT_EQ(warm->start->reused, prompt(4).size() - 1);
  EXPECT_EQ(without->start->reused, 0U);
  EXPECT_TRUE(same_bits(warm->answers[0], cold->answers[0]));
  EXPECT_TRUE(same_bits(without->answers[0], cold->answers[0]));
}

TEST_P(SchedulerBits, AreTheSameForEachOfSeveralChoices) {
  Bench bench(model_);
  Request request = greedy_request(prompt(2), kAnswer);
  request.choices = 12;  // more than run at once
  const auto many = bench.answer(std::move(request));
  const auto one = alone(greedy_request(prompt(2), kAnswer));
  for (const Recorder::Answer& answer : many->answers) EXPECT_TRUE(same_bits(answer, one->answers[0]));
  EXPECT_EQ(bench.sequences(), 0U);
}

TEST_P(SchedulerBits, AreTheSameForDrawnTokensWithPenaltiesInABatch) {
  const auto request = [&](size_t i) {
    Request drawn = greedy_request(prompt(i), kAnswer);
    drawn.sampling = {1.0f, 50, 0.9f, 0.0f, 1.1f, 32, 0.4f, 0.3f, 1000 + i};
    drawn.choices = 2;
    return drawn;
  };
  Bench bench(model_);
  std::vector<std::shared_ptr<Recorder>> together;
  for (size_t i = 0; i < 4; ++i) together.push_back(bench.add(request(i)));
  bench.run();
  for (size_t i = 0; i < 4; ++i) {
    const auto one = alone(request(i));
    EXPECT_TRUE(same_bits(together[i]->answers[0], one->answers[0]));
    EXPECT_TRUE(same_bits(together[i]->answers[1], one->answers[1]));
    EXPECT_NE(one->answers[0].tokens, one->answers[1].tokens) << "each choice has a stream of its own";
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SchedulerBits,
                         ::testing::Values("granitehybrid-dense", "granitehybrid-recurrent", "gemma3",
                                           "lfm2moe", "qwen35moe", "rwkv7"),
                         [](const auto& model) { return test_name(model.param); });

TEST(SchedulerMemory, ATinyBudgetWithEightRequestsFinishesAllWithTheSameBits) {
  const auto model = load_model(golden_file("granitehybrid-dense"));
  EngineOptions options = small_options();
  const Bench roomy(model);
  // Room for three when they start, not when they have grown.
  options.budget_bytes =
      roomy.engine->memory().use().scratch_bytes + 3 * Footprint(roomy.engine->memory()).sequence_bytes(112);
  Bench bench(model, options);
  std::vector<std::shared_ptr<Recorder>> answers;
  for (size_t i = 0; i < 8; ++i)
    answers.push_back(bench.add(greedy_request(some_tokens(40 + i, model->vocabulary(), i), 150)));
  bench.run();
  EXPECT_GT(bench.batcher->totals().preemptions, 0U);
  for (size_t i = 0; i < 8; ++i) {
    ASSERT_FALSE(answers[i]->error.has_value()) << answers[i]->error->message;
    EXPECT_EQ(answers[i]->reason(), FinishReason::kLength);
    const auto one = Bench(model).answer(greedy_request(some_tokens(40 + i, model->vocabulary(), i), 150));
    EXPECT_TRUE(same_bits(answers[i]->answers[0], one->answers[0])) << i;
  }
  EXPECT_EQ(bench.sequences(), 0U);
}

TEST(SchedulerMemory, AnAnswerThatOutgrowsTheBudgetEndsAndOthersGoOn) {
  const auto model = load_model(golden_file("granitehybrid-dense"));
  EngineOptions options = small_options();
  const Bench roomy(model);
  options.budget_bytes =
      roomy.engine->memory().use().scratch_bytes + Footprint(roomy.engine->memory()).sequence_bytes(700);
  Bench bench(model, options, 8, 100'000);
  const auto endless = bench.add(greedy_request(some_tokens(30, model->vocabulary(), 1), SIZE_MAX));
  const auto other = bench.add(greedy_request(some_tokens(30, model->vocabulary(), 2), 40));
  bench.run();
  ASSERT_FALSE(endless->error.has_value()) << endless->error->message;
  EXPECT_EQ(endless->reason(), FinishReason::kMemory);
  EXPECT_GT(endless->tokens().size(), 200U);
  EXPECT_EQ(other->reason(), FinishReason::kLength);
  EXPECT_EQ(bench.sequences(), 0U);
}

TEST(SchedulerMemory, APromptThatDoesNotFitFailsWithNumbersAndOthersGoOn) {
  const auto model = load_model(golden_file("granitehybrid-dense"));
  EngineOptions options = small_options();
  const Bench roomy(model);
  options.budget_bytes =
      roomy.engine->memory().use().scratch_bytes + Footprint(roomy.engine->memory()).sequence_bytes(300);
  Bench bench(model, options, 8, 100'000);
  const auto small = bench.add(greedy_request(some_tokens(30, model->vocabulary(), 1), 5));
  const auto large = bench.add(greedy_request(some_tokens(9000, model->vocabulary(), 2), 5));
  const auto later = bench.add(greedy_request(some_tokens(30, model->vocabulary(), 3), 5));
  bench.run();
  EXPECT_EQ(small->reason(), FinishReason::kLength);
  EXPECT_EQ(later->reason(), FinishReason::kLength);
  ASSERT_TRUE(large->error.has_value());
  EXPECT_EQ(large->error->kind, ErrorKind::kOutOfBudget);
  EXPECT_NE(large->error->message.find(std::to_string(options.budget_bytes)), std::string::npos)
      << large->error->message;
  EXPECT_EQ(bench.sequences(), 0U);
}

}  // namespace
}  // namespace oxbow::engine
