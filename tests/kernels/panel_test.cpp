#include "kernels/panel.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernels.h"
#include "matmul_fixture.h"

namespace oxbow::kernels {
namespace {

using testing::empty_rows;
using testing::kTensorTypes;
using testing::pack;
using testing::Packed;
using testing::random_weights;
using testing::Rows;
using testing::TensorType;
using testing::Weights;

TEST(Panel, KeepsEveryWeightExactly) {
  // A unit activation picks one column: y is then the weight with one rounding at most, as in quant::decode.
  const KernelTable& table = *available_kernels().back();
  for (TensorType type : kTensorTypes) {
    const gguf::TensorTypeInfo& info = gguf::tensor_type_info(type);
    const size_t cols = info.block_elements == 1 ? 37 : 2 * info.block_elements;
    const Weights w = random_weights(type, 19, cols, 11);
    const Packed packed = pack(w);
    Rows x = empty_rows(cols, cols, 0);
    for (size_t i = 0; i < cols; ++i) {
      x.values[i * cols + i] = 1.0f;
      if (!takes_quantized_rows(packed.matrix.format)) continue;
      const Activations row = x.view(i);
      row.quantized.codes[i] = 1;
      row.quantized.scales[i / 32] = 1.0f;
      row.quantized.sums[i / 16] = 1;
    }
    std::vector<float> y(cols * w.rows);
    table.matmul(packed.matrix, x.view(), 0, 2, y.data(), w.rows);
    for (size_t r = 0; r < w.rows; ++r) {
      for (size_t i = 0; i < cols; ++i) {
        const float weight = w.values[r * cols + i];
        ASSERT_NEAR(y[i * w.rows + r], weight, 2e-7 * (std::fabs(weight) + 0.2))
            << info.name << " " << r << " " << i;
      }
    }
  }
}

TEST(Panel, TakesAsManyBytesAsTheBlocksItIsPackedFrom) {
  for (TensorType type : kTensorTypes) {
    const size_t cols = 4096;
    const size_t file_bytes = *gguf::tensor_bytes(type, 16 * cols);
    const size_t bytes = panel_bytes(panel_format(type), cols);
    EXPECT_EQ(bytes % 64, 0U);
    // Q6_K's scale is widened to 32 bits; Q3_K takes Q6_K's panels.
    if (type == TensorType::kQ3_K) continue;
    EXPECT_EQ(bytes, file_bytes + (type == TensorType::kQ6_K ? 16 * 32 : 0))
        << gguf::tensor_type_info(type).name;
  }
}

TEST(Panel, IsWrittenWholeAndNotBeyond) {
  for (TensorType type : kTensorTypes) {
    const gguf::TensorTypeInfo& info = gguf::tensor_type_info(type);
    for (size_t blocks : {1, 2, 3}) {
      const size_t cols = blocks * info.block_elements;
      const Weights w = random_weights(type, 16, cols, 2);
      const size_t bytes = panel_bytes(panel_format(type), cols);
      for (size_t rows : {1, 15, 16}) {
        std::vector<std::byte> a(bytes + 64, std::byte{0x55});
        std::vector<std::byte> b(bytes + 64, std::byte{0xaa});
        pack_panel(type, w.blocks.data(), w.row_bytes(), rows, cols, a.data());
        pack_panel(type, w.blocks.data(), w.row_bytes(), rows, cols, b.data());
        EXPECT_EQ(std::memcmp(a.data(), b.data(), bytes), 0) << info.name;
        for (size_t i = bytes; i < a.size(); ++i) ASSERT_EQ(a[i], std::byte{0x55}) << info.name;
      }
    }
  }
}

TEST(Panel, LeavesRowsThatAreMissingAtZero) {
  const KernelTable& table = *available_kernels().back();
  for (TensorType type : kTensorTypes) {
    const size_t block = gguf::tensor_type_info(type).block_elements;
    const size_t cols = block == 1 ? 32 : block;
    const Weights w = random_weights(type, 3, cols, 13);
    Packed packed = pack(w);
    packed.matrix.rows = 16;  // shows the missing rows
    Rows x = testing::random_rows(2, cols, 14);
    std::vector<float> y(2 * 16, 1.0f);
    table.matmul(packed.matrix, x.view(), 0, 1, y.data(), 16);
    for (size_t t = 0; t < 2; ++t) {
      for (size_t r = 3; r < 16; ++r) EXPECT_EQ(y[16 * t + r], 0.0f) << gguf::tensor_type_info(type).name;
    }
  }
}

}  // namespace
}  // namespace oxbow::kernels
