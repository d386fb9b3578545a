// Answers within a grammar.

#include "engine/grammar_constraint.h"
#include "engine/scheduler_harness.h"
#include "text/tokenizer.h"

namespace oxbow::engine {
namespace {

using oxbow::testing::load_model;
using oxbow::testing::source_path;

class SchedulerConstraint : public ::testing::Test {
 protected:
  void SetUp() override {
    model_ = load_model(source_path("models/oxbow-mini.gguf"));
    auto tokenizer = text::Tokenizer::from_gguf(model_->file());
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    tokenizer_ = std::move(*tokenizer);
    vocabulary_ = std::make_shared<grammar::GrammarVocabulary>(*tokenizer_);
  }
  Request request(std::string_view gbnf, float temperature, uint64_t seed) const {
    auto grammar = grammar::Grammar::from_gbnf(gbnf, vocabulary_);
    EXPECT_TRUE(grammar) << grammar.error().message;
    Request request = greedy_request(tokenizer_->encode("Once upon a time", {}), 60);
    request.sampling.temperature = temperature;
    request.sampling.seed = seed;
    const auto ends = tokenizer_->vocabulary().end_of_generation();
    request.end_tokens.assign(ends.begin(), ends.end());
    request.constraint = make_constraint(*grammar);
    return request;
  }
  std::string text(const Recorder& sink, size_t choice = 0) const {
    return tokenizer_->decode(sink.tokens(choice));
  }

  std::shared_ptr<const model::Model> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::shared_ptr<const grammar::GrammarVocabulary> vocabulary_;
};

TEST_F(SchedulerConstraint, EveryChoiceIsOneOfTheTexts) {
  Bench bench(model_);
  for (const float temperature : {0.0f, 2.0f}) {
    Request asked = request(R"(root ::= "yes" | "no, " ("never" | "not now"))", temperature, 5);
    asked.choices = 10;
    asked.ignore_end = true;
    const auto answer = bench.answer(std::move(asked));
    for (size_t i = 0; i < 10; ++i) {
      const std::string said = text(*answer, i);
      EXPECT_TRUE(said == "yes" || said == "no, never" || said == "no, not now") << said;
      EXPECT_EQ(answer->reason(i), FinishReason::kEnd);
    }
  }
  EXPECT_EQ(bench.sequences(), 0U);
}

TEST_F(SchedulerConstraint, IsTheSameInABatchAndAfterBeingMovedOut) {
  const char* digits = R"(root ::= [0-9]+ "." [0-9]+)";
  Bench alone(model_);
  const auto one = alone.answer(request(digits, 1.0f, 9));
  EXPECT_EQ(text(*one).find_first_not_of("0123456789."), std::string::npos) << text(*one);
  Bench bench(model_);
  std::vector<std::shared_ptr<Recorder>> together;
  for (int i = 0; i < 5; ++i) together.push_back(bench.add(request(digits, 1.0f, 9)));
  bench.run();
  for (const auto& sink : together) EXPECT_TRUE(same_bits(sink->answers[0], one->answers[0]));
}

}  // namespace
}  // namespace oxbow::engine
