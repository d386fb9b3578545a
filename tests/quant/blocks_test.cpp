#include "quant/blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "quant/half.h"
#include "support/golden.h"
#include "support/shared.h"

namespace oxbow::quant {
namespace {

using testing::Golden;

constexpr TensorType kAllTypes[] = {
    TensorType::kF32,  TensorType::kF16,  TensorType::kQ4_0, TensorType::kQ4_1, TensorType::kQ5_0,
    TensorType::kQ5_1, TensorType::kQ8_0, TensorType::kQ2_K, TensorType::kQ3_K, TensorType::kQ4_K,
    TensorType::kQ5_K, TensorType::kQ6_K, TensorType::kBF16};

// "q4_K", "bf16": how the golden files spell a type.
std::string golden_spelling(TensorType type) {
  std::string name(gguf::tensor_type_info(type).name);
  for (char& c : name) {
    if (c != 'K') c = static_cast<char>(std::tolower(c));
  }
  return name;
}

void expect_same_bits(const std::vector<float>& got, const std::vector<float>& expected,
                      const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(expected[i]))
        << what << "[" << i << "]: " << got[i] << " instead of " << expected[i];
  }
}

class BlockTypes : public ::testing::TestWithParam<TensorType> {
 protected:
  const gguf::TensorTypeInfo& info() const { return gguf::tensor_type_info(GetParam()); }

  std::vector<std::byte> random_blocks(size_t count) const {
    std::mt19937 random(7);
    std::vector<std::byte> bytes(count * info().block_bytes);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
  }
};

TEST_P(BlockTypes, DecodeToTheReferencesValuesBitForBit) {
  OXBOW_NEEDS_SHARED();
  const Golden golden("quant-blocks");
  const std::string type = golden_spelling(GetParam());
  EXPECT_EQ(golden.number("types/" + type + "/ggml_type"), static_cast<double>(info().type));
  EXPECT_EQ(golden.number("types/" + type + "/elements_per_block"), info().block_elements);
  EXPECT_EQ(golden.number("types/" + type + "/bytes_per_block"), info().block_bytes);
  for (const std::string prefix : {"", "random_"}) {
    if (!golden.has_array(prefix + "bytes_" + type)) continue;
    const auto expected = golden.floats(prefix + "values_" + type);
    std::vector<float> values(expected.size());
    decode(GetParam(), golden.bytes(prefix + "bytes_" + type), values);
    expect_same_bits(values, expected, prefix + "values_" + type);
  }
}

TEST_P(BlockTypes, RandomBlocksAreCoveredByTheReference) {
  OXBOW_NEEDS_SHARED();
  const Golden golden("quant-blocks");
  const std::string type = golden_spelling(GetParam());
  EXPECT_EQ(golden.has_array("random_bytes_" + type), info().block_elements > 1);
}

TEST_P(BlockTypes, DecodeEachBlockAloneAndAtAnyAddress) {
  const size_t count = 5;
  const auto blocks = random_blocks(count);
  std::vector<float> together(count * info().block_elements);
  decode(GetParam(), blocks, together);

  std::vector<std::byte> shifted(blocks.size() + 1);
  std::memcpy(shifted.data() + 1, blocks.data(), blocks.size());
  for (size_t i = 0; i < count; ++i) {
    std::vector<float> alone(info().block_elements);
    decode(GetParam(), std::span(shifted).subspan(1 + i * info().block_bytes, info().block_bytes), alone);
    EXPECT_EQ(
        std::memcmp(alone.data(), together.data() + i * info().block_elements, alone.size() * sizeof(float)),
        0);
  }
}

TEST_P(BlockTypes, NoValuesAreNoBlocks) {
  decode(GetParam(), {}, {});
  SUCCEED();
}

INSTANTIATE_TEST_SUITE_P(All, BlockTypes, ::testing::ValuesIn(kAllTypes), [](const auto& tested) {
  return std::string(gguf::tensor_type_info(tested.param).name);
});

TEST(Encode, MatchesTheReferencesBytes) {
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
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  for (int exponent = -10; exponent <= 12; ++exponent) {
    std::vector<float> source(32);
    for (float& x : source) x = std::ldexp(normal(random), exponent);
    std::vector<std::byte> block(34);
    ASSERT_TRUE(encode(TensorType::kQ8_0, source, block));
    std::vector<float> values(32);
    decode(TensorType::kQ8_0, block, values);
    float largest = 0;
    for (float x : source) largest = std::max(largest, std::fabs(x));
    // Half a step, plus the rounding of the scale to 16 bits times the largest code.
    const float bound = largest / 127 * (0.5f + 127 * 0x1p-11f) + 127 * 0x1p-25f;
    for (size_t i = 0; i < 32; ++i) EXPECT_LE(std::fabs(values[i] - source[i]), bound) << exponent;
  }
}

TEST(Encode, Q8_0OfZerosAndOfValuesBelowItsSmallestScaleIsZeros) {
  for (const float x : {0.0f, 1e-45f, 1e-38f, -1e-12f}) {
    std::vector<std::byte> block(34, std::byte{0xee});
    ASSERT_TRUE(encode(TensorType::kQ8_0, std::vector<float>(32, x), block));
    EXPECT_EQ(block, std::vector<std::byte>(34)) << x;
  }
}

TEST(Encode, RefusesWhatQ8_0CannotHold) {
  std::vector<std::byte> block(34);
  for (const float x :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e7f}) {
    std::vector<float> values(32, 1.0f);
    values[31] = -x;
    const auto status = encode(TensorType::kQ8_0, values, block);
    ASSERT_FALSE(status) << x;
    EXPECT_EQ(status.error().kind, ErrorKind::kInvalidInput);
    EXPECT_NE(status.error().message.find("Q8_0"), std::string::npos);
  }
}

TEST(Encode, NamesTheTypeItCannotMake) {
  std::vector<std::byte> block(144);
  const auto status = encode(TensorType::kQ4_K, std::vector<float>(256), block);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(status.error().message.find("Q4_K"), std::string::npos);
}

}  // namespace
}  // namespace oxbow::quant
