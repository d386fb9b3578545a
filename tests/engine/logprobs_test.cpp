#include "engine/logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/harness.h"

namespace oxbow::engine {
namespace {

TEST(Logprobs, AreTheLogSoftmaxOfTheRow) {
  std::vector<float> logits;
  for (const TokenId token : oxbow::testing::some_tokens(1000, 4000, 3))
    logits.push_back(static_cast<float>(token) / 150.0f - 13.0f);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  Logprobs logprobs;
  logprobs.read(logits);
  for (size_t i = 0; i < logits.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(logprobs.of(static_cast<TokenId>(i))),
                static_cast<double>(logits[i]) - std::log(sum), 1e-5);
  }
}

TEST(Logprobs, TheLikeliestComeFirstAndTiesGoToTheLowerId) {
  const std::vector<float> logits = {1, 5, 3, 5, 2, 3};
  Logprobs logprobs;
  logprobs.read(logits);
  std::vector<TokenId> tokens;
  for (const TokenLogprob& one : logprobs.top(4)) {
    tokens.push_back(one.token);
    EXPECT_EQ(one.logprob, logprobs.of(one.token));
  }
  EXPECT_EQ(tokens, (std::vector<TokenId>{1, 3, 2, 5}));
  EXPECT_EQ(logprobs.top(0).size(), 0U);
  EXPECT_EQ(logprobs.top(99).size(), 6U);
}

TEST(Logprobs, AreFiniteForAnyRow) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> odd = {-kInfinity, std::nanf(""), 0, 1e30f, kInfinity};
  Logprobs logprobs;
  logprobs.read(odd);
  for (TokenId token = 0; token < 5; ++token) EXPECT_TRUE(std::isfinite(logprobs.of(token)));
  EXPECT_EQ(logprobs.of(3), 0.0f);
  EXPECT_EQ(logprobs.of(0), Logprobs::kLowest);
  const std::vector<float> none = {-kInfinity, -kInfinity};
  logprobs.read(none);
  EXPECT_EQ(logprobs.of(1), Logprobs::kLowest);
  EXPECT_TRUE(logprobs.top(3).empty());
}

}  // namespace
}  // namespace oxbow::engine
