// A conversation through single requests reuses what earlier ones computed.

#include "engine/gated_store.h"
#include "engine/scheduler_harness.h"

namespace oxbow::engine {
namespace {

using oxbow::testing::load_model;
using oxbow::testing::some_tokens;
using oxbow::testing::test_name;

// Turns of random tokens; the boundaries are the ends of messages, as a chat template has them.
class Chat {
 public:
  explicit Chat(size_t vocabulary) : vocabulary_(vocabulary) { say(80); }

  // A message of the user, or the header of the answer.
  void say(size_t count) {
    const auto message = some_tokens(count, vocabulary_, ++seed_);
    tokens_.insert(tokens_.end(), message.begin(), message.end());
    boundaries_.push_back(tokens_.size());
  }
  void hear(const std::vector<TokenId>& answer) {
    tokens_.insert(tokens_.end(), answer.begin(), answer.end());
    boundaries_.push_back(tokens_.size());
  }
  // The conversation as it was with so many messages.
  void go_back(size_t messages) {
    boundaries_.resize(messages);
    tokens_.resize(boundaries_.back());
  }
  size_t messages() const { return boundaries_.size(); }
  size_t tokens() const { return tokens_.size(); }
  Request request(size_t max_tokens) const {
    Request request = greedy_request(tokens_, max_tokens);
    const auto header = some_tokens(3, vocabulary_, 99);
    request.prompt.insert(request.prompt.end(), header.begin(), header.end());
    request.boundaries = boundaries_;
    return request;
  }

 private:
  size_t vocabulary_;
  uint64_t seed_ = 0;
  std::vector<TokenId> tokens_;
  std::vector<size_t> boundaries_;
};

class SchedulerReuse : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    bench_ = std::make_unique<Bench>(load_model(golden_file(GetParam())));
    chat_ = std::make_unique<Chat>(bench_->engine->model().vocabulary());
  }
  // One turn; the answer's tokens with the header that the next prompt repeats.
  std::shared_ptr<Recorder> turn() {
    Request request = chat_->request(20);
    const std::vector<TokenId> prompt = request.prompt;
    auto answer = bench_->answer(std::move(request));
    std::vector<TokenId> said(prompt.begin() + static_cast<ptrdiff_t>(chat_->tokens()), prompt.end());
    said.insert(said.end(), answer->tokens().begin(), answer->tokens().end());
    chat_->hear(said);
    return answer;
  }

  std::unique_ptr<Bench> bench_;
  std::unique_ptr<Chat> chat_;
};

TEST_P(SchedulerReuse, EveryTurnReusesTheTurnsBefore) {
  size_t before = 0;
  for (int i = 0; i < 10; ++i) {
    chat_->say(25);
    const auto answer = turn();
    if (i > 0) {
      EXPECT_GE(answer->start->reused + 64, before) << "turn " << i;
      // All of the answer but its last token, which was chosen and not evaluated.
      EXPECT_EQ(answer->start->reused, before + 19) << "turn " << i;
    }
    before = answer->start->prompt_tokens;
  }
}

TEST_P(SchedulerReuse, RegeneratingReusesThePrompt) {
  for (int i = 0; i < 3; ++i) {
    chat_->say(25);
    turn();
  }
  chat_->go_back(chat_->messages() - 1);
  const auto again = turn();
  EXPECT_EQ(again->start->reused, again->start->prompt_tokens - 1);
}

TEST_P(SchedulerReuse, AnEditTwoTurnsBackReusesWhatStandsBeforeIt) {
  for (int i = 0; i < 5; ++i) {
    chat_->say(25);
    turn();
  }
  chat_->go_back(chat_->messages() - 4);
  const size_t unchanged = chat_->tokens();
  chat_->say(30);
  const auto edited = turn();
  EXPECT_EQ(edited->start->reused, unchanged);
  EXPECT_EQ(edited->start->miss, memory::Miss::kDiverged);
}

TEST_P(SchedulerReuse, AnotherPartitionReusesNothing) {
  chat_->say(25);
  Request request = chat_->request(5);
  request.partition = "one";
  bench_->answer(std::move(request));
  request = chat_->request(5);
  request.partition = "two";
  EXPECT_EQ(bench_->answer(std::move(request))->start->reused, 0U);
}

TEST_P(SchedulerReuse, WithoutCachePromptNothingIsKept) {
  chat_->say(300);
  Request request = chat_->request(5);
  request.cache_prompt = false;
  bench_->answer(std::move(request));
  EXPECT_EQ(bench_->engine->memory().use().checkpoints, 0U);
  EXPECT_EQ(bench_->engine->memory().tree().token_count(), 0U);
  EXPECT_EQ(bench_->answer(chat_->request(5))->start->reused, 0U);
}

TEST_P(SchedulerReuse, RequestsThatArriveTogetherComputeTheirBeginningOnce) {
  chat_->say(200);
  const size_t shared = chat_->tokens();
  std::vector<std::shared_ptr<Recorder>> answers;
  for (int i = 0; i < 6; ++i) {
    chat_->say(20);
    answers.push_back(bench_->add(chat_->request(5)));
    chat_->go_back(chat_->messages() - 1);
  }
  bench_->run();
  for (size_t i = 1; i < answers.size(); ++i) EXPECT_EQ(answers[i]->start->reused, shared) << i;
}

TEST_P(SchedulerReuse, ACancelledPromptServesTheNextTry) {
  chat_->say(300);
  auto sink = bench_->add(chat_->request(5));
  for (int i = 0; i < 6; ++i) (void)bench_->batcher->step();
  bench_->batcher->cancel(1, FinishReason::kCancelled);
  ASSERT_EQ(sink->reason(), FinishReason::kCancelled);
  ASSERT_FALSE(sink->progresses.empty());
  EXPECT_EQ(bench_->answer(chat_->request(5))->start->reused, sink->progresses.back());
}

TEST_P(SchedulerReuse, WhoWaitsForAStoreHoldsUpNobody) {
  const auto model = load_model(golden_file(GetParam()));
  const auto gates = std::make_shared<oxbow::testing::Gates>();
  chat_->say(300);
  {
    Bench before(model);
    before.engine->add_store(std::make_unique<oxbow::testing::GatedStore>(gates));
    before.answer(chat_->request(5));
  }
  gates->open_gets(false);
  Bench after(model);
  after.engine->add_store(std::make_unique<oxbow::testing::GatedStore>(gates));
  const auto stored = after.add(chat_->request(5));
  // Too short to be looked for in a store.
  const auto other = after.add(greedy_request(some_tokens(12, model->vocabulary(), 77), 5));
  for (int i = 0; i < 400 && !other->is_over(); ++i) {
    if (!after.batcher->step()) after.batcher->wait_for_stores();
  }
  EXPECT_TRUE(other->is_over());
  EXPECT_FALSE(stored->start.has_value());
  gates->open_gets(true);
  after.run();
  EXPECT_EQ(stored->start->reused, stored->start->prompt_tokens - 1);
  EXPECT_TRUE(same_bits(stored->answers[0], bench_->answer(chat_->request(5))->answers[0]));
}

INSTANTIATE_TEST_SUITE_P(Models, SchedulerReuse,
                         ::testing::Values("granitehybrid-dense", "granitehybrid-recurrent", "gemma3"),
                         [](const auto& model) { return test_name(model.param); });

}  // namespace
}  // namespace oxbow::engine
