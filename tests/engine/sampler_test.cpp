#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "gguf/writer.h"

namespace oxbow::engine {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

SamplerSettings plain() {
  SamplerSettings settings;
  settings.temperature = 1.0f;
  settings.top_k = 0;
  settings.top_p = 1.0f;
  settings.min_p = 0.0f;
  settings.seed = 1;
  return settings;
}

std::map<TokenId, size_t> draw(const SamplerSettings& settings, const std::vector<float>& logits,
                               size_t count, std::vector<TokenId> recent = {}) {
  Sampler sampler(settings);
  std::map<TokenId, size_t> counts;
  for (size_t i = 0; i < count; ++i) ++counts[sampler.sample(logits, recent)];
  return counts;
}

TEST(Sampler, TemperatureZeroTakesTheLargestAndTheLowerOfTwo) {
  SamplerSettings settings = plain();
  settings.temperature = 0.0f;
  Sampler sampler(settings);
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 3, 2}, {}), 1);
  EXPECT_EQ(sampler.sample(std::vector<float>{3, 1, 3}, {}), 0);
  EXPECT_EQ(sampler.sample(std::vector<float>{kNan, 1, kNan, 2}, {}), 3);
  EXPECT_EQ(sampler.sample(std::vector<float>{kNan, kNan}, {}), 0);
}

TEST(Sampler, DrawsInProportionToTheProbabilities) {
  const auto counts = draw(plain(), {0.0f, std::log(2.0f), std::log(5.0f)}, 8000);
  EXPECT_NEAR(static_cast<double>(counts.at(0)), 1000.0, 150.0);
  EXPECT_NEAR(static_cast<double>(counts.at(1)), 2000.0, 200.0);
  EXPECT_NEAR(static_cast<double>(counts.at(2)), 5000.0, 250.0);
}

TEST(Sampler, TheSameSeedGivesTheSameTokens) {
  std::vector<float> logits;
  for (int i = 0; i < 100; ++i) logits.push_back(static_cast<float>(i * 37 % 11));
  Sampler a(plain());
  Sampler b(plain());
  for (int i = 0; i < 200; ++i) ASSERT_EQ(a.sample(logits, {}), b.sample(logits, {}));
}

TEST(Sampler, TopKTopPAndMinPKeepTheLikeliest) {
  const std::vector<float> logits = {std::log(0.5f), std::log(0.25f), std::log(0.15f), std::log(0.1f)};
  SamplerSettings settings = plain();
  settings.top_k = 2;
  EXPECT_EQ(draw(settings, logits, 500).size(), 2U);
  settings = plain();
  settings.top_p = 0.7f;
  EXPECT_EQ(draw(settings, logits, 500).size(), 2U);
  settings.top_p = 0.0f;
  EXPECT_EQ(draw(settings, logits, 100).size(), 1U);
  settings = plain();
  settings.min_p = 0.25f;
  EXPECT_EQ(draw(settings, logits, 500).size(), 3U);
  settings.min_p = 1.0f;
  EXPECT_EQ(draw(settings, logits, 100).size(), 1U);
}

TEST(Sampler, RepeatPenaltyLowersRecentTokensOnly) {
  SamplerSettings settings = plain();
  settings.temperature = 0.0f;
  settings.repeat_penalty = 2.0f;
  settings.repeat_last_n = 2;
  Sampler sampler(settings);
  EXPECT_EQ(sampler.sample(std::vector<float>{3, 2}, std::vector<TokenId>{0}), 1);
  EXPECT_EQ(sampler.sample(std::vector<float>{3, 2}, std::vector<TokenId>{0, 1, 1}), 0);
  EXPECT_EQ(sampler.sample(std::vector<float>{-1, -1.5f}, std::vector<TokenId>{0}), 1);
  EXPECT_EQ(sampler.sample(std::vector<float>{3, 2}, std::vector<TokenId>{-1, 7}), 0);
}

TEST(Sampler, NeverChoosesWhatIsNotANumber) {
  const auto counts = draw(plain(), {kNan, 0.0f, kInfinity, -kInfinity}, 50);
  EXPECT_EQ(counts.size(), 1U);
  EXPECT_EQ(counts.begin()->first, 1);
  EXPECT_EQ(draw(plain(), {kNan, kNan}, 1).begin()->first, 0);
  SamplerSettings tiny = plain();
  tiny.temperature = 1e-30f;  // logits overflow when divided by it
  EXPECT_EQ(draw(tiny, {1.0f, 2.0f}, 20).begin()->first, 1);
}

TEST(Sampler, PresenceCountsOnceAndFrequencyEachTime) {
  SamplerSettings settings = plain();
  settings.temperature = 0.0f;
  settings.presence_penalty = 1.0f;
  settings.frequency_penalty = 0.5f;
  Sampler sampler(settings);
  const std::vector<TokenId> once = {0};
  const std::vector<TokenId> thrice = {0, 1, 0, 0};
  const auto choose = [&](std::vector<float> logits, const std::vector<TokenId>& generated) {
    return sampler.choose(logits, {{}, generated, {}, {}});
  };
  EXPECT_EQ(choose({3, 1.6f}, once), 1);
  EXPECT_EQ(choose({3, 1.4f}, once), 0);
  EXPECT_EQ(choose({3, -5, 0.6f}, thrice), 2);
  EXPECT_EQ(choose({3, -5, 0.4f}, thrice), 0);
  EXPECT_EQ(choose({3, 2.9f}, {}), 0);
  EXPECT_EQ(choose({3, 2.9f}, {-1, 99}), 0);
}

TEST(Sampler, BiasIsAddedAndCanForbid) {
  for (const float temperature : {0.0f, 1.0f}) {
    SamplerSettings settings = plain();
    settings.temperature = temperature;
    settings.top_k = 1;
    Sampler sampler(settings);
    const std::vector<LogitBias> up = {{2, 5.0f}, {77, 1.0f}, {-1, 1.0f}};
    const std::vector<LogitBias> down = {{1, -kInfinity}};
    const std::vector<float> logits = {1, 3, 0};
    EXPECT_EQ(sampler.choose(logits, {{}, {}, up, {}}), 2);
    EXPECT_EQ(sampler.choose(logits, {{}, {}, down, {}}), 0);
  }
}

TEST(Sampler, OnlyWhatTheMaskAllowsIsChosen) {
  std::vector<float> logits(70, 0.0f);
  logits[3] = 9;
  std::vector<uint32_t> mask(3, 0);
  mask[1] = 1U << 5;  // token 37
  mask[2] = 1U << 1;  // token 65
  for (const float temperature : {0.0f, 1.0f}) {
    SamplerSettings settings = plain();
    settings.temperature = temperature;
    Sampler sampler(settings);
    for (int i = 0; i < 20; ++i) {
      const TokenId token = sampler.choose(logits, {{}, {}, {}, mask});
      EXPECT_TRUE(token == 37 || token == 65) << token;
    }
    const std::vector<float> none(70, kNan);
    EXPECT_EQ(sampler.choose(none, {{}, {}, {}, mask}), 37);
  }
}

TEST(Sampler, ChoicesHaveSeedsOfTheirOwn) {
  EXPECT_EQ(choice_seed(5, 0), 5U);
  EXPECT_NE(choice_seed(5, 1), choice_seed(5, 2));
  EXPECT_NE(choice_seed(5, 1), choice_seed(6, 0));
  EXPECT_NE(choice_seed(5, 2), choice_seed(6, 1));
}

TEST(SamplerSettings, NamesTheValueThatIsOutOfRange) {
  const auto message = [](auto&& change) {
    SamplerSettings settings;
    change(settings);
    const Status status = settings.check();
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(message([](SamplerSettings&) {}), "");
  EXPECT_EQ(message([](SamplerSettings& s) { s.temperature = -1; }),
            "the temperature is -1, expected 0 to 100");
  EXPECT_EQ(message([](SamplerSettings& s) { s.top_p = 1.5f; }), "top-p is 1.5, expected 0 to 1");
  EXPECT_EQ(message([](SamplerSettings& s) { s.min_p = kNan; }), "min-p is nan, expected 0 to 1");
  EXPECT_NE(message([](SamplerSettings& s) { s.repeat_penalty = 0; }), "");
}

TEST(SamplerSettings, TakesWhatTheFileRecommends) {
  gguf::Writer writer;
  writer.add_float32("general.sampling.temp", 0.25f);
  writer.add_int32("general.sampling.top_k", 7);
  writer.add_string("general.sampling.top_p", "high");
  const auto bytes = writer.bytes();
  ASSERT_TRUE(bytes);
  const auto file = gguf::File::parse(*bytes, "test");
  ASSERT_TRUE(file) << file.error().message;
  const SamplerSettings settings = SamplerSettings::from_file(*file);
  EXPECT_EQ(settings.temperature, 0.25f);
  EXPECT_EQ(settings.top_k, 7U);
  EXPECT_EQ(settings.top_p, SamplerSettings().top_p);
}

}  // namespace
}  // namespace oxbow::engine
