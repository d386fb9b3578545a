#include "gguf/tensor_type.h"

#include <gtest/gtest.h>

namespace oxbow::gguf {
namespace {

TEST(TensorTypes, AreFoundByNumberAndByNameInAnyCase) {
  for (const uint32_t number : {0U, 1U, 2U, 3U, 6U, 7U, 8U, 10U, 11U, 12U, 13U, 14U, 20U, 23U, 30U, 39U}) {
    const TensorTypeInfo* info = find_tensor_type(number);
    ASSERT_NE(info, nullptr) << number;
    EXPECT_EQ(static_cast<uint32_t>(info->type), number);
    EXPECT_EQ(find_tensor_type(info->name), info);
    EXPECT_EQ(&tensor_type_info(info->type), info);
  }
  EXPECT_EQ(find_tensor_type("q4_k"), find_tensor_type(12U));
  EXPECT_EQ(find_tensor_type("bf16"), find_tensor_type(30U));
}

TEST(TensorTypes, NumbersAndNamesThatAreNotDecodedAreNotFound) {
  for (const uint32_t number : {4U, 5U, 9U, 15U, 16U, 29U, 31U, 40U, 1000U, 0xffffffffU}) {
    EXPECT_EQ(find_tensor_type(number), nullptr) << number;
  }
  EXPECT_EQ(find_tensor_type("Q4"), nullptr);
  EXPECT_EQ(find_tensor_type(""), nullptr);
  EXPECT_EQ(find_tensor_type("IQ3_S"), nullptr);
}

TEST(TensorTypes, EveryNumberUpToTheNewestIsDecodedOrHasAName) {
  for (uint32_t number = 0; number <= 40; ++number) {
    EXPECT_NE(find_tensor_type(number) != nullptr, !undecoded_type_name(number).empty()) << number;
  }
  EXPECT_EQ(undecoded_type_name(21), "IQ3_S");
  EXPECT_EQ(undecoded_type_name(41), "");
}

TEST(TensorTypes, BytesAreWholeBlocksWithoutOverflow) {
  EXPECT_EQ(tensor_bytes(TensorType::kF32, 3), 12U);
  EXPECT_EQ(tensor_bytes(TensorType::kQ8_0, 64), 68U);
  EXPECT_EQ(tensor_bytes(TensorType::kQ6_K, 512), 420U);
  EXPECT_EQ(tensor_bytes(TensorType::kQ6_K, 0), 0U);
  EXPECT_EQ(tensor_bytes(TensorType::kQ4_0, 33), std::nullopt);
  EXPECT_EQ(tensor_bytes(TensorType::kQ4_K, 128), std::nullopt);
  EXPECT_EQ(tensor_bytes(TensorType::kF32, uint64_t{1} << 62), std::nullopt);
  EXPECT_EQ(tensor_bytes(TensorType::kF32, (uint64_t{1} << 62) - 1), 0xfffffffffffffffcU);
}

}  // namespace
}  // namespace oxbow::gguf
