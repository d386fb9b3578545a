#include "engine/prompt_slices.h"

#include <gtest/gtest.h>

#include <vector>

namespace oxbow::engine {
namespace {

std::vector<size_t> shares(const std::vector<size_t>& wanted, size_t budget, size_t first = 0) {
  std::vector<size_t> given(wanted.size());
  share_fairly(wanted, budget, first, given);
  return given;
}

TEST(ShareFairly, GivesEveryoneAsMuchAndWhatIsLeftToThoseWhoWantMore) {
  EXPECT_EQ(shares({100, 100, 100, 100}, 80), (std::vector<size_t>{20, 20, 20, 20}));
  EXPECT_EQ(shares({5, 100, 100}, 45), (std::vector<size_t>{5, 20, 20}));
  EXPECT_EQ(shares({5, 0, 7}, 100), (std::vector<size_t>{5, 0, 7}));
  EXPECT_EQ(shares({1000}, 64), (std::vector<size_t>{64}));
  EXPECT_EQ(shares({}, 64), (std::vector<size_t>{}));
}

TEST(ShareFairly, SingleTokensGoRound) {
  EXPECT_EQ(shares({9, 9, 9}, 2, 0), (std::vector<size_t>{1, 1, 0}));
  EXPECT_EQ(shares({9, 9, 9}, 2, 2), (std::vector<size_t>{1, 0, 1}));
}

// A machine on which a step costs `base` seconds and a prompt's token `each`.
size_t settled_slice(PromptSlices& slices, size_t decoding, double base, double each) {
  for (int i = 0; i < 50; ++i) {
    if (decoding > 0) slices.measure(decoding, 0, base);
    const size_t tokens = slices.tokens(decoding, 512);
    slices.measure(decoding, tokens, base + each * static_cast<double>(tokens));
  }
  return slices.tokens(decoding, 512);
}

TEST(PromptSlices, LearnHowMuchFitsTheTime) {
  PromptSlices slices(0.1);
  EXPECT_NEAR(static_cast<double>(settled_slice(slices, 3, 0.02, 0.001)), 100.0, 5.0);
  EXPECT_NEAR(static_cast<double>(settled_slice(slices, 3, 0.02, 0.004)), 25.0, 3.0);
}

TEST(PromptSlices, AreLongerWhenNobodyWaitsAndNeverBeyondTheLimit) {
  PromptSlices slices(0.1);
  EXPECT_NEAR(static_cast<double>(settled_slice(slices, 0, 0.02, 0.002)), 190.0, 10.0);
  EXPECT_EQ(settled_slice(slices, 0, 0.001, 0.00001), 512U);
  EXPECT_EQ(slices.tokens(0, 3), 3U);
}

TEST(PromptSlices, GoOnWhenATokenCostsMoreThanTheTime) {
  PromptSlices slices(0.1);
  EXPECT_EQ(settled_slice(slices, 3, 0.5, 1.0), PromptSlices::kLeastTokens);
}

}  // namespace
}  // namespace oxbow::engine
