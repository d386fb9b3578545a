// Cancelling, deadlines, stopping: whatever the phase, nothing stays behind.

#include <random>

#include "engine/scheduler_harness.h"

namespace oxbow::engine {
namespace {

using oxbow::testing::load_model;
using oxbow::testing::some_tokens;

class SchedulerCancel : public ::testing::Test {
 protected:
  SchedulerCancel()
      : model_(load_model(golden_file("granitehybrid-dense"))), bench_(model_, small_options(), 2) {}

  std::shared_ptr<Recorder> add(size_t prompt, size_t max_tokens, size_t choices = 1) {
    Request request = greedy_request(some_tokens(prompt, model_->vocabulary(), ++seed_), max_tokens);
    request.choices = choices;
    return bench_.add(std::move(request));
  }
  RequestId last() const { return bench_.next_id - 1; }
  void steps(size_t count) {
    for (size_t i = 0; i < count; ++i) (void)bench_.batcher->step();
  }
  uint64_t cancelled(Phase phase) const {
    return bench_.batcher->totals().cancelled[static_cast<size_t>(phase)];
  }
  void expect_empty() {
    EXPECT_TRUE(bench_.batcher->is_idle());
    EXPECT_EQ(bench_.sequences(), 0U);
    Statistics statistics;
    bench_.batcher->report(statistics);
    EXPECT_EQ(statistics.queued + statistics.running + statistics.waiting, 0U);
    for (const SlotState& slot : statistics.slots) EXPECT_FALSE(slot.is_processing);
  }

  std::shared_ptr<const model::Model> model_;
  Bench bench_;
  uint64_t seed_ = 0;
};

TEST_F(SchedulerCancel, WorksWhileQueued) {
  add(100, 50);
  add(100, 50);
  steps(2);
  const auto queued = add(10, 5);
  steps(2);
  bench_.batcher->cancel(last(), FinishReason::kCancelled);
  EXPECT_EQ(queued->reason(), FinishReason::kCancelled);
  EXPECT_FALSE(queued->start.has_value());
  EXPECT_EQ(cancelled(Phase::kQueued), 1U);
  bench_.run();
  expect_empty();
}

TEST_F(SchedulerCancel, WorksInThePrompt) {
  const auto sink = add(1000, 50);
  steps(3);
  ASSERT_TRUE(sink->start.has_value());
  bench_.batcher->cancel(last(), FinishReason::kCancelled);
  EXPECT_EQ(sink->reason(), FinishReason::kCancelled);
  EXPECT_TRUE(sink->tokens().empty());
  EXPECT_EQ(cancelled(Phase::kPrompt), 1U);
  expect_empty();
}

TEST_F(SchedulerCancel, WorksWhileDecodingForAllChoices) {
  const auto sink = add(10, 50, 3);  // one more than run at once
  while (sink->tokens().size() < 4) steps(1);
  bench_.batcher->cancel(last(), FinishReason::kCancelled);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(sink->reason(i), FinishReason::kCancelled);
  EXPECT_EQ(cancelled(Phase::kDecode), 2U);
  EXPECT_EQ(cancelled(Phase::kPrompt), 1U);
  expect_empty();
}

TEST_F(SchedulerCancel, BeforeThePromptIsDoneEndsEveryChoiceOnce) {
  const auto sink = add(1000, 50, 3);
  steps(2);
  bench_.batcher->cancel(last(), FinishReason::kCancelled);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(sink->reason(i), FinishReason::kCancelled);
  expect_empty();
}

TEST_F(SchedulerCancel, OfUnknownRequestsDoesNothing) {
  bench_.batcher->cancel(77, FinishReason::kCancelled);
  const auto sink = add(10, 5);
  bench_.batcher->cancel(77, FinishReason::kCancelled);
  bench_.run();
  EXPECT_EQ(sink->reason(), FinishReason::kLength);
  bench_.batcher->cancel(last(), FinishReason::kCancelled);
  expect_empty();
}

TEST_F(SchedulerCancel, ADeadlineEndsARequestInItsPhase) {
  Request request = greedy_request(some_tokens(10, model_->vocabulary(), 1), 50);
  const auto now = Clock::now();
  request.deadline = now + std::chrono::hours(1);
  const auto sink = bench_.add(std::move(request));
  EXPECT_EQ(bench_.batcher->next_deadline(), now + std::chrono::hours(1));
  steps(4);
  bench_.batcher->expire(now);
  EXPECT_FALSE(sink->is_over());
  bench_.batcher->expire(now + std::chrono::hours(2));
  EXPECT_EQ(sink->reason(), FinishReason::kDeadline);
  expect_empty();
}

TEST_F(SchedulerCancel, TheSinkStopsAnAnswerAtOnce) {
  const auto sink = add(10, 50);
  sink->on_token = [&](const TokenEvent&) {
    return sink->tokens().size() < 7 ? Sink::Next::kContinue : Sink::Next::kStop;
  };
  bench_.run();
  EXPECT_EQ(sink->reason(), FinishReason::kStopped);
  EXPECT_EQ(sink->tokens().size(), 7U);
  EXPECT_EQ(sink->answers[0].finished->generated, 7U);
  expect_empty();
}

TEST_F(SchedulerCancel, EndTokensEndAnAnswerUnlessTheyAreIgnored) {
  const auto prompt = some_tokens(10, model_->vocabulary(), 5);
  const auto free = bench_.answer(greedy_request(prompt, 8));
  Request ending = greedy_request(prompt, 8);
  ending.end_tokens = {free->tokens()[3]};
  const auto first = std::ranges::find(free->tokens(), free->tokens()[3]) - free->tokens().begin();
  const auto ended = bench_.answer(std::move(ending));
  EXPECT_EQ(ended->reason(), FinishReason::kEnd);
  EXPECT_EQ(ended->tokens().size(), static_cast<size_t>(first));
  EXPECT_EQ(ended->answers[0].finished->generated, static_cast<size_t>(first) + 1);
  Request ignoring = greedy_request(prompt, 8);
  ignoring.end_tokens = {free->tokens()[3]};
  ignoring.ignore_end = true;
  const auto ignored = bench_.answer(std::move(ignoring));
  EXPECT_EQ(ignored->reason(), FinishReason::kLength);
  EXPECT_EQ(std::ranges::count(ignored->tokens(), free->tokens()[3]), 0);
}

TEST_F(SchedulerCancel, NoTokensWantedEvaluatesThePromptForLater) {
  Request request = greedy_request(some_tokens(60, model_->vocabulary(), 5), 0);
  const auto sink = bench_.answer(std::move(request));
  EXPECT_EQ(sink->reason(), FinishReason::kLength);
  EXPECT_TRUE(sink->tokens().empty());
  EXPECT_EQ(bench_.answer(greedy_request(some_tokens(60, model_->vocabulary(), 5), 1))->start->reused, 59U);
}

TEST_F(SchedulerCancel, TheContextBoundsAnAnswer) {
  Bench bench(model_, small_options(), 2, 50);
  const auto sink = bench.answer(greedy_request(some_tokens(40, model_->vocabulary(), 1), SIZE_MAX));
  EXPECT_EQ(sink->reason(), FinishReason::kLength);
  EXPECT_EQ(sink->tokens().size(), 10U);
}

TEST_F(SchedulerCancel, DestroyingTheBatcherEndsWhatRuns) {
  const auto running = add(10, 50);
  steps(3);
  const auto queued = add(10, 50);
  bench_.batcher.reset();
  EXPECT_EQ(running->reason(), FinishReason::kShutdown);
  EXPECT_EQ(queued->reason(), FinishReason::kShutdown);
  EXPECT_EQ(bench_.sequences(), 0U);
}

TEST_F(SchedulerCancel, AThousandRequestsWithRandomEndsLeaveMemoryEmpty) {
  std::mt19937_64 random(7);
  std::vector<std::shared_ptr<Recorder>> sinks;
  Bench bench(model_, small_options(size_t{24} << 20), 8);
  for (size_t i = 0; i < 1000; ++i) {
    const auto start = some_tokens(1 + random() % 20, model_->vocabulary(), random() % 5);
    Request request = greedy_request(start, random() % 6);
    request.choices = 1 + random() % 3;
    request.cache_prompt = random() % 4 != 0;
    request.partition = random() % 2 == 0 ? "" : "other";
    sinks.push_back(bench.add(std::move(request)));
    if (random() % 2 == 0) (void)bench.batcher->step();
    if (random() % 2 == 0) bench.batcher->cancel(1 + random() % bench.next_id, FinishReason::kCancelled);
  }
  bench.run();
  for (const auto& sink : sinks) {
    ASSERT_TRUE(sink->is_over());
    EXPECT_FALSE(sink->error.has_value());
  }
  EXPECT_EQ(bench.sequences(), 0U);
  EXPECT_EQ(bench.engine->memory().use().sequence_bytes, 0U);
  bench.engine->memory().evict(SIZE_MAX);
  EXPECT_EQ(bench.engine->memory().pool().used_bytes(), bench.engine->memory().use().scratch_bytes);
}

}  // namespace
}  // namespace oxbow::engine
