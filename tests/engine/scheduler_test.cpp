// The scheduler's thread, its limits, its slots.

#include "engine/scheduler.h"

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include "engine/scheduler_harness.h"

namespace oxbow::engine {
namespace {

using oxbow::testing::load_model;
using oxbow::testing::some_tokens;

class SchedulerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    model_ = load_model(golden_file("granitehybrid-dense"));
    start({});
    folder_ = std::filesystem::temp_directory_path() /
              ("oxbow-scheduler-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    scheduler_.reset();
    std::filesystem::remove_all(folder_);
  }
  void start(SchedulerOptions options, const EngineOptions& engine = small_options()) {
    auto scheduler = Scheduler::create(make_engine(model_, engine), options);
    ASSERT_TRUE(scheduler) << scheduler.error().message;
    scheduler_ = std::move(*scheduler);
  }
  std::vector<TokenId> prompt(size_t count, uint64_t seed = 1) const {
    return some_tokens(count, model_->vocabulary(), seed);
  }
  std::shared_ptr<Recorder> submit(Request request) {
    auto sink = std::make_shared<Recorder>(request.choices);
    const auto id = scheduler_->submit(std::move(request), sink);
    EXPECT_TRUE(id) << id.error().message;
    last_ = id.value_or(0);
    return sink;
  }
  std::shared_ptr<Recorder> answer(Request request) {
    auto sink = submit(std::move(request));
    sink->wait();
    return sink;
  }
  Refusal refusal(Request request) {
    const auto id = scheduler_->submit(std::move(request), std::make_shared<Recorder>());
    EXPECT_FALSE(id);
    return id ? Refusal{} : id.error();
  }
  // What the statistics say once the thread has published what it did last.
  Statistics settled() {
    std::promise<void> first;
    scheduler_->inspect([&](Engine&) { first.set_value(); });
    first.get_future().wait();
    std::promise<void> second;  // comes a turn later
    scheduler_->inspect([&](Engine&) { second.set_value(); });
    second.get_future().wait();
    return scheduler_->statistics();
  }
  Result<SlotReport> slot(std::function<void(Scheduler::SlotCallback)> operation) {
    std::promise<Result<SlotReport>> promise;
    operation([&](Result<SlotReport> report) { promise.set_value(std::move(report)); });
    return promise.get_future().get();
  }

  std::shared_ptr<const model::Model> model_;
  std::unique_ptr<Scheduler> scheduler_;
  std::filesystem::path folder_;
  RequestId last_ = 0;
};

TEST_F(SchedulerTest, AnswersFromManyThreadsAreThoseOfAPlainSession) {
  const std::vector<TokenId> expected = plain_answer(model_, prompt(30), 20);
  std::vector<std::thread> threads;
  std::atomic<size_t> right{0};
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 3; ++k) {
        auto sink = std::make_shared<Recorder>();
        if (!scheduler_->submit(greedy_request(prompt(30), 20), sink)) return;
        sink->wait();
        if (sink->tokens() == expected) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right.load(), 18U);
  const Statistics statistics = settled();
  EXPECT_EQ(statistics.totals.submitted, 18U);
  EXPECT_EQ(statistics.totals.generated_tokens, 18U * 20U);
  EXPECT_EQ(statistics.totals.prompt_tokens, 18U * 30U);
  EXPECT_EQ(statistics.totals.finished[static_cast<size_t>(FinishReason::kLength)], 18U);
  EXPECT_EQ(statistics.totals.time_to_first_token.count(), 18U);
  EXPECT_EQ(statistics.totals.between_tokens.count(), 18U * 19U);
  uint64_t missed = 0;
  for (const uint64_t tokens : statistics.totals.missed_tokens) missed += tokens;
  EXPECT_EQ(statistics.totals.cached_tokens + missed, 18U * 30U);
}

TEST_F(SchedulerTest, RefusesWhatBreaksTheRules) {
  EXPECT_EQ(refusal(greedy_request({}, 5)).message, "the prompt has no tokens");
  EXPECT_EQ(refusal(greedy_request({1, 512}, 5)).message,
            "token 512 is outside the vocabulary of 512 tokens");
  EXPECT_EQ(refusal(greedy_request({1, -1}, 5)).kind, RefusalKind::kInvalid);
  Request request = greedy_request({1}, 5);
  request.logit_bias = {{600, 1.0f}};
  EXPECT_EQ(refusal(std::move(request)).kind, RefusalKind::kInvalid);
  request = greedy_request({1}, 5);
  request.boundaries = {3, 2};
  EXPECT_EQ(refusal(std::move(request)).kind, RefusalKind::kInvalid);
  request = greedy_request({1}, 5);
  request.choices = 0;
  EXPECT_EQ(refusal(std::move(request)).kind, RefusalKind::kInvalid);
  request = greedy_request({1}, 5);
  request.sampling.top_p = 2;
  EXPECT_EQ(refusal(std::move(request)).message, "top-p is 2, expected 0 to 1");
}

TEST_F(SchedulerTest, RefusesWhatNeverFitsWithBothNumbers) {
  SchedulerOptions options;
  options.context_tokens = 100;
  start(options);
  const Refusal long_prompt = refusal(greedy_request(prompt(100), 5));
  EXPECT_EQ(long_prompt.kind, RefusalKind::kTooLarge);
  EXPECT_EQ(long_prompt.message, "the prompt has 100 tokens; the context holds 100, answer included");
  EXPECT_EQ(answer(greedy_request(prompt(99), 5))->tokens().size(), 1U);

  options.context_tokens = 1'000'000;
  EngineOptions engine = small_options();
  const auto roomy = make_engine(model_);
  engine.budget_bytes = roomy->memory().use().scratch_bytes + Footprint(roomy->memory()).sequence_bytes(300);
  start(options, engine);
  const Refusal large = refusal(greedy_request(prompt(9000), 5));
  EXPECT_EQ(large.kind, RefusalKind::kTooLarge);
  EXPECT_NE(large.message.find(std::to_string(engine.budget_bytes)), std::string::npos) << large.message;
}

TEST_F(SchedulerTest, TheQueueHasALimit) {
  SchedulerOptions options;
  options.parallel = 1;
  options.queue_limit = 3;
  options.context_tokens = 1'000'000;
  start(options);
  std::promise<void> held;
  scheduler_->inspect([&](Engine&) { held.get_future().wait(); });  // nothing starts meanwhile
  std::vector<std::shared_ptr<Recorder>> sinks;
  for (int i = 0; i < 3; ++i) sinks.push_back(submit(greedy_request(prompt(5), 3)));
  EXPECT_EQ(refusal(greedy_request(prompt(5), 3)).kind, RefusalKind::kQueueFull);
  EXPECT_EQ(scheduler_->statistics().queued, 3U);
  held.set_value();
  for (const auto& sink : sinks) sink->wait();
  const Statistics statistics = settled();
  EXPECT_EQ(statistics.queued, 0U);
  EXPECT_EQ(statistics.totals.refused_full, 1U);
  answer(greedy_request(prompt(5), 3));
}

TEST_F(SchedulerTest, CancelReachesARequestFromAnotherThread) {
  SchedulerOptions options;
  options.context_tokens = 1'000'000;
  start(options);
  const auto endless = submit(greedy_request(prompt(5), SIZE_MAX));
  answer(greedy_request(prompt(9), 10));
  scheduler_->cancel(last_ - 1);
  endless->wait();
  EXPECT_EQ(endless->reason(), FinishReason::kCancelled);
}

TEST_F(SchedulerTest, DrainFinishesWhatItHasAndRefusesMore) {
  const auto running = submit(greedy_request(prompt(50), 30));
  std::promise<void> drained;
  scheduler_->drain(Clock::now() + std::chrono::hours(1), [&] { drained.set_value(); });
  EXPECT_TRUE(scheduler_->is_draining());
  EXPECT_EQ(refusal(greedy_request(prompt(5), 3)).kind, RefusalKind::kShuttingDown);
  drained.get_future().wait();
  ASSERT_TRUE(running->is_over());
  EXPECT_EQ(running->reason(), FinishReason::kLength);
}

TEST_F(SchedulerTest, DrainStopsAtItsDeadline) {
  SchedulerOptions options;
  options.context_tokens = 1'000'000;
  start(options);
  const auto endless = submit(greedy_request(prompt(5), SIZE_MAX));
  std::promise<void> drained;
  scheduler_->drain(Clock::now(), [&] { drained.set_value(); });
  drained.get_future().wait();
  EXPECT_EQ(endless->reason(), FinishReason::kShutdown);
}

TEST_F(SchedulerTest, DestroyingItAnswersEverybody) {
  SchedulerOptions options;
  options.parallel = 1;
  options.context_tokens = 1'000'000;
  start(options);
  const auto running = submit(greedy_request(prompt(5), SIZE_MAX));
  const auto queued = submit(greedy_request(prompt(5), SIZE_MAX));
  std::atomic<bool> drained{false};
  scheduler_->drain(Clock::now() + std::chrono::hours(1), [&] { drained = true; });
  scheduler_.reset();
  EXPECT_EQ(running->reason(), FinishReason::kShutdown);
  EXPECT_EQ(queued->reason(), FinishReason::kShutdown);
  EXPECT_TRUE(drained);
}

TEST_F(SchedulerTest, NeedsARowOfLogitsForEachSequence) {
  SchedulerOptions options;
  options.parallel = 9;
  const auto scheduler = Scheduler::create(make_engine(model_), options);
  ASSERT_FALSE(scheduler);
  EXPECT_EQ(scheduler.error().message,
            "9 parallel sequences need as many rows of logits; the engine gives 8");
}

TEST_F(SchedulerTest, ASavedSlotIsReusedByAnotherProcessWithTheSameBits) {
  Request request = greedy_request(prompt(90), 10);
  request.slot = 3;
  const auto first = answer(std::move(request));
  EXPECT_EQ(first->start->slot, 3U);
  const std::string path = folder_ / "slot.bin";
  const auto saved = slot([&](auto done) { scheduler_->save(3, path, "", done); });
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_EQ(saved->tokens, 99U);
  EXPECT_EQ(saved->file_bytes, std::filesystem::file_size(path));

  std::vector<TokenId> longer = prompt(90);
  longer.insert(longer.end(), first->tokens().begin(), first->tokens().end());
  longer.push_back(7);
  const auto cold = Bench(model_).answer(greedy_request(longer, 10));
  start({});
  const auto restored = slot([&](auto done) { scheduler_->restore(5, path, "", done); });
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->tokens, 99U);
  EXPECT_EQ(restored->reusable, 99U);
  EXPECT_EQ(restored->reason, "");
  const auto warm = answer(greedy_request(longer, 10));
  EXPECT_EQ(warm->start->reused, 99U);
  EXPECT_TRUE(same_bits(warm->answers[0], cold->answers[0]));
  EXPECT_EQ(settled().memory.sequences, 0U);
}

TEST_F(SchedulerTest, SlotsBelongToTheirPartition) {
  Request request = greedy_request(prompt(40), 3);
  request.partition = "mine";
  request.slot = 0;
  answer(std::move(request));
  const std::string path = folder_ / "slot.bin";
  const auto theirs = slot([&](auto done) { scheduler_->save(0, path, "other", done); });
  ASSERT_FALSE(theirs);
  EXPECT_EQ(theirs.error().kind, ErrorKind::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(slot([&](auto done) { scheduler_->erase(0, "other", done); }));
  EXPECT_TRUE(slot([&](auto done) { scheduler_->save(0, path, "mine", done); }));
  EXPECT_FALSE(slot([&](auto done) { scheduler_->save(99, path, "mine", done); }));
}

TEST_F(SchedulerTest, AnErasedSlotIsForgotten) {
  Request request = greedy_request(prompt(40), 3);
  request.slot = 0;
  answer(std::move(request));
  const auto erased = slot([&](auto done) { scheduler_->erase(0, "", done); });
  ASSERT_TRUE(erased);
  EXPECT_EQ(erased->tokens, 42U);
  EXPECT_EQ(erased->reusable, 0U);
  EXPECT_EQ(answer(greedy_request(prompt(40), 3))->start->reused, 0U);
  EXPECT_FALSE(slot([&](auto done) { scheduler_->erase(0, "", done); }));
}

TEST_F(SchedulerTest, ADamagedFileIsRefused) {
  answer(greedy_request(prompt(40), 3));
  const std::string path = folder_ / "slot.bin";
  ASSERT_TRUE(slot([&](auto done) { scheduler_->save(0, path, "", done); }));
  std::filesystem::resize_file(path, 100);
  const auto restored = slot([&](auto done) { scheduler_->restore(0, path, "", done); });
  ASSERT_FALSE(restored);
  EXPECT_NE(restored.error().message.find("slot.bin"), std::string::npos);
}

}  // namespace
}  // namespace oxbow::engine
