#include "quant/blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "quant/half.h"
#include "support/golden.h"
#include "support/shared.h"

namespace oxbow::quant {
namespace {

using testing::Golden;

constexpr TensorType kAllTypes[] = {
    TensorType::kF32,  TensorType::kF16,    TensorType::kQ4_0,   TensorType::kQ4_1,
    TensorType::kQ5_0, TensorType::kQ5_1,   TensorType::kQ8_0,   TensorType::kQ2_K,
    TensorType::kQ3_K, TensorType::kQ4_K,   TensorType::kQ5_K,   TensorType::kQ6_K,
    TensorType::kBF16, TensorType::kIQ4_NL, TensorType::kIQ4_XS, TensorType::kMXFP4};

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
  const bool codebook = GetParam() == TensorType::kIQ4_NL || GetParam() == TensorType::kIQ4_XS ||
                        GetParam() == TensorType::kMXFP4;  // encoded values only
  EXPECT_EQ(golden.has_array("random_bytes_" + type), info().block_elements > 1 && !codebook);
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

TEST(Decode, TakesEveryExponentOfMxfp4AsAPowerOfTwo) {
  for (int e = 0; e < 256; ++e) {
    std::vector<std::byte> block(17);
    block[0] = static_cast<std::byte>(e);
    for (size_t i = 0; i < 16; ++i) block[1 + i] = static_cast<std::byte>(i | ((15 - i) << 4));
    std::vector<float> values(32);
    decode(TensorType::kMXFP4, block, values);
    const double halves[8] = {0, 1, 2, 3, 4, 6, 8, 12};
    for (size_t i = 0; i < 32; ++i) {
      const size_t code = i < 16 ? i : 31 - i;
      const double expected = (code < 8 ? halves[code] : -halves[code - 8]) * std::ldexp(1.0, e - 128);
      EXPECT_EQ(values[i], static_cast<float>(expected)) << e << " " << code;
    }
    EXPECT_FALSE(std::signbit(values[8])) << "there is no negative zero";
  }
}

TEST(Decode, ReadsTheSixBitScalesOfIq4XsFromNibblesAndTopBits) {
  for (int bit = 0; bit < 6; ++bit) {
    for (size_t group = 0; group < 8; ++group) {
      std::vector<std::byte> block(136);
      block[1] = std::byte{0x3c};  // d = 1
      if (bit < 4) block[4 + group / 2] = static_cast<std::byte>(1 << (bit + group % 2 * 4));
      if (bit >= 4) block[2 + group / 4] = static_cast<std::byte>(1 << (bit - 4 + group % 4 * 2));
      std::vector<float> values(256);
      decode(TensorType::kIQ4_XS, block, values);
      for (size_t i = 0; i < 256; ++i) {
        const int scale = (i / 32 == group ? 1 << bit : 0) - 32;
        EXPECT_EQ(values[i], static_cast<float>(scale * -127)) << bit << " " << group << " " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, BlockTypes, ::testing::ValuesIn(kAllTypes), [](const auto& tested) {
  return std::string(gguf::tensor_type_info(tested.param).name);
});

}  // namespace
}  // namespace oxbow::quant
