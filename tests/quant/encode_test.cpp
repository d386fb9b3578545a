#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "quant/blocks.h"
#include "support/golden.h"
#include "support/shared.h"

namespace oxbow::quant {
namespace {

using testing::Golden;

// Types that are encoded with an error, and how large it is for normal values: the root mean square error
// over the root mean square of the values.
struct Lossy {
  TensorType type;
  double error;
};
constexpr Lossy kLossy[] = {
    {TensorType::kQ8_0, 0.0056},  {TensorType::kQ6_K, 0.0172},   {TensorType::kQ4_0, 0.0840},
    {TensorType::kQ4_K, 0.0725},  {TensorType::kIQ4_NL, 0.0760}, {TensorType::kIQ4_XS, 0.0765},
    {TensorType::kMXFP4, 0.1160},
};

std::string name_of(TensorType type) {
  return std::string(gguf::tensor_type_info(type).name);
}

// "q4_K", "bf16": how the golden files spell a type.
std::string golden_spelling(TensorType type) {
  std::string name = name_of(type);
  for (char& c : name) {
    if (c != 'K') c = static_cast<char>(std::tolower(c));
  }
  return name;
}

std::vector<float> normal_values(size_t count, uint32_t seed, float scale = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> values(count);
  for (float& v : values) v = normal(random);
  return values;
}

std::vector<float> round_trip(TensorType type, const std::vector<float>& values) {
  std::vector<std::byte> blocks(*gguf::tensor_bytes(type, values.size()));
  const Status encoded = encode(type, values, blocks);
  EXPECT_TRUE(encoded) << (encoded ? "" : encoded.error().message);
  std::vector<float> decoded(values.size());
  decode(type, blocks, decoded);
  return decoded;
}

double rms_error(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

class LossyEncoding : public ::testing::TestWithParam<Lossy> {};
INSTANTIATE_TEST_SUITE_P(All, LossyEncoding, ::testing::ValuesIn(kLossy),
                         [](const auto& tested) { return name_of(tested.param.type); });

TEST_P(LossyEncoding, IsAtLeastAsCloseAsTheReferencesEncoder) {
  OXBOW_NEEDS_SHARED();
  const Golden golden("quant-blocks");
  const auto source = golden.floats("src");
  const double reference = rms_error(golden.floats("values_" + golden_spelling(GetParam().type)), source);
  EXPECT_LE(rms_error(round_trip(GetParam().type, source), source), reference * 1.0001);
}

TEST_P(LossyEncoding, HasTheSameRelativeErrorAtEveryScale) {
  for (int exponent : {-5, -2, 0, 5, 10}) {
    const float scale = std::ldexp(1.0f, exponent);
    const auto values = normal_values(4096, 3, scale);
    EXPECT_LE(rms_error(round_trip(GetParam().type, values), values), GetParam().error * scale) << exponent;
  }
}

TEST_P(LossyEncoding, KeepsOneLargeValueAmongSmallOnes) {
  for (float large : {3.0f, -3.0f, 1000.0f, -1000.0f}) {
    std::vector<float> values(256, 0.0f);
    values[77] = large;
    const auto decoded = round_trip(GetParam().type, values);
    EXPECT_NEAR(decoded[77], large, std::fabs(large) * 0.34) << "powers of two of MXFP4 are far apart";
  }
}

TEST_P(LossyEncoding, OfZerosAndOfValuesBelowTheSmallestScaleIsZeros) {
  for (const float x : {0.0f, -0.0f, 1e-45f, -1e-45f}) {
    const std::vector<float> zeros(256);
    const auto decoded = round_trip(GetParam().type, std::vector<float>(256, x));
    for (size_t i = 0; i < 256; ++i) EXPECT_NEAR(decoded[i], x, 1e-37) << x;
  }
}

TEST_P(LossyEncoding, RefusesInfinitiesAndNan) {
  const TensorType type = GetParam().type;
  std::vector<std::byte> blocks(*gguf::tensor_bytes(type, 512));
  for (const float x : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> values(512, 1.0f);
    values[300] = -x;
    const auto status = encode(type, values, blocks);
    ASSERT_FALSE(status) << x;
    EXPECT_EQ(status.error().kind, ErrorKind::kInvalidInput);
    EXPECT_NE(status.error().message.find(name_of(type)), std::string::npos);
  }
}

TEST_P(LossyEncoding, RefusesValuesWhoseScaleDoesNotFitSixteenBits) {
  const TensorType type = GetParam().type;
  std::vector<std::byte> blocks(*gguf::tensor_bytes(type, 256));
  for (float sign : {1.0f, -1.0f}) {
    std::vector<float> values(256, 1.0f);
    values[200] = sign * std::numeric_limits<float>::max();
    const auto status = encode(type, values, blocks);
    if (type == TensorType::kMXFP4) {
      ASSERT_TRUE(status) << "its exponents span those of binary32";
      continue;
    }
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::kInvalidInput);
    EXPECT_NE(status.error().message.find("too large for " + name_of(type)), std::string::npos);
  }
}

TEST_P(LossyEncoding, TakesAnyFiniteValues) {
  std::mt19937 random(9);
  const TensorType type = GetParam().type;
  std::vector<std::byte> blocks(*gguf::tensor_bytes(type, 256));
  for (int round = 0; round < 300; ++round) {
    std::vector<float> values(256);
    for (float& v : values) {
      const uint32_t word = static_cast<uint32_t>(random());
      std::memcpy(&v, &word, 4);
      if (!std::isfinite(v)) v = 0;
      if (round % 2 == 0) v = std::clamp(v, -1e5f, 1e5f);
    }
    if (!encode(type, values, blocks)) continue;
    std::vector<float> decoded(256);
    decode(type, blocks, decoded);
    for (float v : decoded) ASSERT_FALSE(std::isnan(v));
  }
}

TEST(Encode, FindsTheCodesOfValuesThatTheTypeHoldsExactly) {
  // Multiples of a power of two that use the outermost codes of every group.
  std::mt19937 random(4);
  const struct {
    TensorType type;
    int low, high;
  } kCases[] = {{TensorType::kQ8_0, -127, 127},
                {TensorType::kQ4_0, -8, 7},
                {TensorType::kQ6_K, -32, 31},
                {TensorType::kQ4_K, 0, 15}};
  for (const auto& tested : kCases) {
    std::vector<float> values(512);
    for (size_t i = 0; i < values.size(); ++i) {
      const int span = tested.high - tested.low + 1;
      const int code = i % 16 == 3    ? tested.low
                       : i % 16 == 11 ? tested.high
                                      : tested.low + static_cast<int>(random() % static_cast<uint32_t>(span));
      values[i] = std::ldexp(static_cast<float>(code), -3);
    }
    const auto decoded = round_trip(tested.type, values);
    EXPECT_LE(rms_error(decoded, values), 1e-3) << name_of(tested.type);
  }
}

TEST(Encode, Q4_KUsesAMinimumForValuesFarFromZeroOnOneSide) {
  std::vector<float> values = normal_values(1024, 5, 0.1f);
  for (float& v : values) v -= 2.0f;
  EXPECT_LE(rms_error(round_trip(TensorType::kQ4_K, values), values), 0.1 * 0.09);
}

TEST(Encode, MatchesTheReferencesBytesWhereThereIsNoChoice) {
  OXBOW_NEEDS_SHARED();
  const Golden golden("quant-blocks");
  const auto source = golden.floats("src");
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBF16, TensorType::kQ8_0}) {
    const auto expected = golden.bytes("bytes_" + golden_spelling(type));
    std::vector<std::byte> blocks(expected.size());
    ASSERT_TRUE(encode(type, source, blocks));
    EXPECT_EQ(blocks, expected) << golden_spelling(type);
  }
}

TEST(Encode, Q8_0StaysWithinHalfAStepAtEveryScale) {
  for (int exponent = -10; exponent <= 12; ++exponent) {
    const auto source = normal_values(32, 11 + static_cast<uint32_t>(exponent), std::ldexp(1.0f, exponent));
    const auto values = round_trip(TensorType::kQ8_0, source);
    float largest = 0;
    for (float x : source) largest = std::max(largest, std::fabs(x));
    // Half a step, plus the rounding of the scale to 16 bits times the largest code.
    const float bound = largest / 127 * (0.5f + 127 * 0x1p-11f) + 127 * 0x1p-25f;
    for (size_t i = 0; i < 32; ++i) EXPECT_LE(std::fabs(values[i] - source[i]), bound) << exponent;
  }
}

TEST(Encode, Q8_0WritesZeroCodesWhenItsScaleIsZero) {
  for (const float x : {0.0f, 1e-45f, 1e-38f, -1e-12f}) {
    std::vector<std::byte> block(34, std::byte{0xee});
    ASSERT_TRUE(encode(TensorType::kQ8_0, std::vector<float>(32, x), block));
    EXPECT_EQ(block, std::vector<std::byte>(34)) << x;
  }
}

TEST(Encode, NamesTheTypeItCannotMake) {
  std::vector<std::byte> block(84);
  const auto status = encode(TensorType::kQ2_K, std::vector<float>(256), block);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(status.error().message.find("Q2_K"), std::string::npos);
}

}  // namespace
}  // namespace oxbow::quant
