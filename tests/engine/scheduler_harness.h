#pragma once
// What tests of the batcher and the scheduler share: sinks that record, requests, a plain reference.

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/batcher.h"
#include "engine/engine.h"
#include "engine/harness.h"
#include "engine/session.h"

namespace oxbow::engine {

// The record of one request. Calls out of order fail the test.
class Recorder : public Sink {
 public:
  struct Answer {
    std::vector<TokenId> tokens;
    std::vector<float> logprobs;  // of each token and its alternatives
    std::optional<Finished> finished;
  };

  explicit Recorder(size_t choices = 1) : answers(choices) {}

  void started(const Started& event) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(start.has_value());
    EXPECT_FALSE(is_over());
    start = event;
  }
  void progress(size_t done, size_t total) override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(start.has_value());
    EXPECT_GT(done, progresses.empty() ? start->reused : progresses.back());
    EXPECT_LE(done, total);
    progresses.push_back(done);
  }
  Next token(const TokenEvent& event) override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(start.has_value());
    Answer& answer = answers.at(event.choice);
    EXPECT_FALSE(answer.finished.has_value());
    answer.tokens.push_back(event.token);
    answer.logprobs.push_back(event.logprob);
    for (const TokenLogprob& one : event.top) answer.logprobs.push_back(one.logprob);
    return on_token ? on_token(event) : Next::kContinue;
  }
  void finished(const Finished& event) override {
    const std::lock_guard lock(mutex_);
    Answer& answer = answers.at(event.choice);
    EXPECT_FALSE(answer.finished.has_value());
    answer.finished = event;
    changed_.notify_all();
  }
  void failed(const Error& event) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(is_over());
    error = event;
    changed_.notify_all();
  }

  // For schedulers, whose calls come from another thread.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_over(); });
  }
  bool is_over() const {
    return error.has_value() ||
           std::ranges::all_of(answers, [](const Answer& answer) { return answer.finished.has_value(); });
  }
  FinishReason reason(size_t choice = 0) const { return answers.at(choice).finished.value().reason; }
  const std::vector<TokenId>& tokens(size_t choice = 0) const { return answers.at(choice).tokens; }

  std::function<Next(const TokenEvent&)> on_token;
  std::optional<Started> start;
  std::vector<size_t> progresses;
  std::vector<Answer> answers;
  std::optional<Error> error;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

inline bool same_bits(const Recorder::Answer& a, const Recorder::Answer& b) {
  return a.tokens == b.tokens && a.logprobs.size() == b.logprobs.size() &&
         std::memcmp(a.logprobs.data(), b.logprobs.data(), a.logprobs.size() * sizeof(float)) == 0;
}

inline SamplerSettings greedy_settings() {
  SamplerSettings settings;
  settings.temperature = 0;
  return settings;
}

inline Request greedy_request(std::vector<TokenId> prompt, size_t max_tokens) {
  Request request;
  request.prompt = std::move(prompt);
  request.sampling = greedy_settings();
  request.max_tokens = max_tokens;
  request.logprobs = true;
  request.top_logprobs = 3;
  return request;
}

inline EngineOptions small_options(size_t budget_bytes = size_t{256} << 20) {
  EngineOptions options;
  options.threads = 1;
  options.max_step_tokens = 48;
  options.max_outputs = 8;
  options.budget_bytes = budget_bytes;
  return options;
}

inline std::unique_ptr<Engine> make_engine(std::shared_ptr<const model::Model> model,
                                           const EngineOptions& options = small_options()) {
  auto engine = Engine::create(std::move(model), options);
  if (!engine) throw std::runtime_error(engine.error().message);
  return std::move(*engine);
}

inline std::string golden_file(const std::string& name) {
  return oxbow::testing::source_path("tests/golden/" + name + ".gguf");
}

// An engine and a batcher, driven step by step.
class Bench {
 public:
  explicit Bench(std::shared_ptr<const model::Model> model, const EngineOptions& options = small_options(),
                 size_t parallel = 8, size_t context_tokens = 4096)
      : engine(make_engine(std::move(model), options)),
        batcher(std::make_unique<Batcher>(*engine, BatcherOptions{parallel, context_tokens, 0.1})) {}

  std::shared_ptr<Recorder> add(Request request) {
    auto sink = std::make_shared<Recorder>(request.choices);
    batcher->add(next_id++, std::move(request), sink, Clock::now());
    return sink;
  }
  // Runs until nothing is left to do.
  void run() {
    for (size_t step = 0; !batcher->is_idle(); ++step) {
      ASSERT_LT(step, 100'000U);
      if (!batcher->step()) batcher->wait_for_stores();
    }
  }
  std::shared_ptr<Recorder> answer(Request request) {
    auto sink = add(std::move(request));
    run();
    return sink;
  }
  size_t sequences() const { return engine->memory().use().sequences; }

  std::unique_ptr<Engine> engine;
  std::unique_ptr<Batcher> batcher;
  RequestId next_id = 1;
};

// The greedy answer of a plain session, token by token, on an engine of its own.
inline std::vector<TokenId> plain_answer(const std::shared_ptr<const model::Model>& model,
                                         const std::vector<TokenId>& prompt, size_t max_tokens) {
  const auto engine = make_engine(model);
  Session session(*engine, 1 << 20);
  Sampler sampler(greedy_settings());
  EXPECT_TRUE(session.prompt(prompt));
  std::vector<TokenId> answer;
  while (answer.size() < max_tokens) {
    answer.push_back(session.sample(sampler));
    EXPECT_TRUE(session.append(answer.back()));
  }
  return answer;
}

}  // namespace oxbow::engine
