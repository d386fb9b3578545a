// Every architecture describes small models of itself, and each description is a model: it loads, and its
// random logits are ones that a fault would change.

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/harness.h"
#include "engine/tiny_file.h"

namespace oxbow::model {
namespace {

using oxbow::testing::kTinyVocabulary;
using oxbow::testing::load_tiny;
using oxbow::testing::make_tiny_file;
using oxbow::testing::Row;
using oxbow::testing::Runner;
using oxbow::testing::some_tokens;
using oxbow::testing::TinyWeights;

std::vector<std::string> names_of_architectures() {
  std::vector<std::string> names;
  for (std::string_view name : architecture_names()) names.emplace_back(name);
  return names;
}

class Describes : public ::testing::TestWithParam<std::string> {};

TEST_P(Describes, AtLeastOneTinyModelWithNamesOfTheirOwn) {
  const std::vector<TinyModel> models = find_architecture(GetParam())->tiny_models();
  EXPECT_FALSE(models.empty()) << "tiny_models_" << GetParam() << " describes no model";
  std::set<std::string_view> names;
  for (const TinyModel& model : models) EXPECT_TRUE(names.insert(model.name).second) << model.name;
}

TEST_P(Describes, WhatLoads) {
  for (const TinyModel& model : find_architecture(GetParam())->tiny_models()) {
    for (const TinyWeights weights : {TinyWeights::kFloat, TinyWeights::kBlocks}) {
      auto bytes = make_tiny_file(GetParam(), model, weights);
      ASSERT_TRUE(bytes) << bytes.error().message;
      const auto loaded = oxbow::testing::load_bytes(std::move(*bytes), GetParam());
      EXPECT_TRUE(loaded) << loaded.error().message;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, Describes, ::testing::ValuesIn(names_of_architectures()),
                         [](const auto& name) { return name.param; });

double deviation(const Row& row) {
  double sum = 0.0, squares = 0.0;
  for (const float value : row) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const double mean = sum / static_cast<double>(row.size());
  return std::sqrt(squares / static_cast<double>(row.size()) - mean * mean);
}

double distance(const Row& a, const Row& b) {
  double squares = 0.0;
  for (size_t i = 0; i < a.size(); ++i) squares += std::pow(static_cast<double>(a[i]) - b[i], 2);
  return std::sqrt(squares / static_cast<double>(a.size()));
}

class TinyLogits : public ::testing::TestWithParam<std::string> {};

TEST_P(TinyLogits, AreFiniteAndDependOnEveryToken) {
  for (const TinyWeights weights : {TinyWeights::kFloat, TinyWeights::kBlocks}) {
    const auto model = load_tiny(GetParam(), weights);
    Runner runner(model, 1);
    std::vector<memory::TokenId> tokens = some_tokens(12, kTinyVocabulary, 3);
    const std::vector<Row> rows = runner.run(tokens);
    for (const Row& row : rows) {
      for (const float logit : row) ASSERT_TRUE(std::isfinite(logit));
      EXPECT_GT(deviation(row), 0.1) << "logits are nearly equal";
      EXPECT_LT(deviation(row), 100.0);
    }
    for (size_t i = 1; i < rows.size(); ++i) EXPECT_GT(distance(rows[i], rows[i - 1]), 0.05) << "token " << i;
    tokens[0] = (tokens[0] + 1) % static_cast<memory::TokenId>(kTinyVocabulary);
    EXPECT_GT(distance(runner.run(tokens).back(), rows.back()), 1e-4) << "the first token is forgotten";
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TinyLogits, ::testing::ValuesIn(oxbow::testing::tiny_model_names()),
                         [](const auto& name) { return oxbow::testing::test_name(name.param); });

TEST(TinyModels, NameWhatADescriptionGetsWrong) {
  const auto error = [](auto change) {
    TinyModel model = find_architecture("llama")->tiny_models().front();
    change(model);
    const auto bytes = make_tiny_file("llama", model, TinyWeights::kFloat);
    return bytes ? std::string() : bytes.error().message;
  };
  const auto expect = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  EXPECT_EQ(error([](TinyModel&) {}), "");
  expect(error([](TinyModel& model) { model.settings.pop_back(); }), "llama.feed_forward_length is missing");
  expect(error([](TinyModel& model) { model.settings.emplace_back("clamp", 3); }),
         "llama.clamp is not known");
  expect(error([](TinyModel& model) { model.optional.emplace_back("attn_q.bias"); }),
         "attn_q.bias is for a tensor that nothing asks for");
  expect(error([](TinyModel& model) {
           model.types.push_back({"ssm_in.weight", gguf::TensorType::kF16});
         }),
         "ssm_in.weight is for a tensor that nothing asks for");
}

}  // namespace
}  // namespace oxbow::model
