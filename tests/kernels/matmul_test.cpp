#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/kernels.h"
#include "matmul_fixture.h"

namespace oxbow::kernels {
namespace {

using testing::empty_rows;
using testing::kTensorTypes;
using testing::pack;
using testing::Packed;
using testing::quantize;
using testing::random_rows;
using testing::random_weights;
using testing::Rows;
using testing::seen_row;
using testing::TensorType;
using testing::Weights;

constexpr float kUntouched = -12345.0f;

std::string type_name(const ::testing::TestParamInfo<TensorType>& info) {
  return std::string(gguf::tensor_type_info(info.param).name);
}

size_t block_of(TensorType type) {
  return gguf::tensor_type_info(type).block_elements;
}

// [rows of x, rows of w] with two more floats per row, which must stay as they are.
std::vector<float> multiply(const KernelTable& table, const Packed& w, Activations x) {
  const size_t stride = w.matrix.rows + 2;
  std::vector<float> y(x.rows * stride, kUntouched);
  table.matmul(w.matrix, x, 0, w.matrix.panel_count(), y.data(), stride);
  for (size_t t = 0; t < x.rows; ++t) {
    EXPECT_EQ(y[t * stride + w.matrix.rows], kUntouched);
    EXPECT_EQ(y[t * stride + w.matrix.rows + 1], kUntouched);
  }
  return y;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

void expect_product(const Weights& w, Rows& rows, std::span<const float> y) {
  const bool quantized = takes_quantized_rows(panel_format(w.type));
  for (size_t t = 0; t < rows.rows; ++t) {
    const std::vector<double> x = seen_row(rows, t, quantized);
    for (size_t r = 0; r < w.rows; ++r) {
      double sum = 0;
      double magnitude = 0;
      for (size_t i = 0; i < w.cols; ++i) {
        const double product = w.values[r * w.cols + i] * x[i];
        sum += product;
        magnitude += std::fabs(product);
      }
      ASSERT_NEAR(y[t * (w.rows + 2) + r], sum, 1e-6 * magnitude + 1e-30)
          << gguf::tensor_type_info(w.type).name << " row " << r << " token " << t << " of " << w.cols
          << " columns";
    }
  }
}

class MatmulOfType : public ::testing::TestWithParam<TensorType> {};
INSTANTIATE_TEST_SUITE_P(All, MatmulOfType, ::testing::ValuesIn(kTensorTypes), type_name);

TEST_P(MatmulOfType, IsTheProductOfTheOperandsOnEveryInstructionSet) {
  const size_t block = block_of(GetParam());
  const size_t columns[] = {block, 3 * block, block == 256 ? size_t{1024} : 7 * block,
                            block == 256 ? size_t{1792} : size_t{1056}};
  uint32_t seed = 1;
  for (const KernelTable* table : available_kernels()) {
    for (size_t cols : columns) {
      for (size_t rows : {1, 5, 16, 17, 40}) {
        for (size_t tokens : {1, 2, 3, 4, 7, 8, 9, 21, 40}) {
          const Weights w = random_weights(GetParam(), rows, cols, seed++);
          Rows x = random_rows(tokens, cols, seed, seed % 3);
          expect_product(w, x, multiply(*table, pack(w), x.view()));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(MatmulOfType, GivesTheSameBitsWhateverTheTokensTheRangesAndTheInstructionSet) {
  const size_t block = block_of(GetParam());
  for (size_t cols : {block, 5 * block, block == 256 ? 9216UL : 4640UL}) {
    const Weights w = random_weights(GetParam(), 37, cols, 7);
    const Packed packed = pack(w);
    Rows x = random_rows(141, cols, 8);
    const std::vector<float> all = multiply(*available_kernels().front(), packed, x.view());
    const size_t stride = w.rows + 2;
    for (const KernelTable* table : available_kernels()) {
      ASSERT_TRUE(same_bits(all, multiply(*table, packed, x.view()))) << table->name << " " << cols;
      for (size_t tokens : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 31, 63, 64, 65, 100}) {
        const size_t first = (tokens * 29) % (x.rows - tokens);
        Activations some = x.view(first);
        some.rows = tokens;
        const std::vector<float> y = multiply(*table, packed, some);
        ASSERT_TRUE(same_bits(y, std::span(all).subspan(first * stride, tokens * stride)))
            << table->name << ", " << cols << " columns, " << tokens << " tokens";
      }
      std::vector<float> pieces(all.size(), kUntouched);
      for (size_t panel : {2, 0, 1}) {
        table->matmul(packed.matrix, x.view(), panel, panel + 1, pieces.data(), stride);
      }
      ASSERT_TRUE(same_bits(all, pieces)) << table->name << " " << cols;
    }
  }
}

TEST_P(MatmulOfType, HoldsForTheLargestCodesAndScales) {
  const size_t cols = 2 * block_of(GetParam()) * (block_of(GetParam()) == 1 ? 32 : 1);
  const gguf::TensorTypeInfo& info = gguf::tensor_type_info(GetParam());
  for (int fill : {0x00, 0x7f, 0x80, 0x81, 0xff}) {
    if (info.block_elements == 1) break;  // has no codes
    Weights w = random_weights(GetParam(), 16, cols, 3);
    for (size_t b = 0; b < w.blocks.size(); b += info.block_bytes) {
      std::memset(w.blocks.data() + b, fill, info.block_bytes);
      testing::set_scales(GetParam(), w.blocks.data() + b, 65504.0f);
    }
    quant::decode(GetParam(), w.blocks, w.values);
    Rows x = empty_rows(9, cols, 0);
    for (size_t i = 0; i < x.values.size(); ++i) {
      const size_t token = i / cols;
      x.values[i] = token % 3 == 0 ? 5.0f : token % 3 == 1 ? -5.0f : i % 2 == 0 ? 5.0f : -5.0f;
    }
    quantize(*available_kernels().front(), x);
    for (const KernelTable* table : available_kernels())
      expect_product(w, x, multiply(*table, pack(w), x.view()));
  }
}

TEST_P(MatmulOfType, IsZeroForZeroRowsAndZeroActivations) {
  const size_t cols = block_of(GetParam()) * (block_of(GetParam()) == 1 ? 33 : 1);
  const Weights w = random_weights(GetParam(), 18, cols, 4);
  Rows zeros = empty_rows(10, cols, 1);
  quantize(*available_kernels().front(), zeros);
  for (const KernelTable* table : available_kernels()) {
    const std::vector<float> y = multiply(*table, pack(w), zeros.view());
    for (size_t i = 0; i < y.size(); ++i) {
      const bool written = i % 20 < 18;
      ASSERT_EQ(y[i], written ? 0.0f : kUntouched) << table->name;
    }
  }
}

TEST_P(MatmulOfType, CarriesWhatIsNotANumberOnlyIntoItsOwnRow) {
  const size_t cols = block_of(GetParam()) * (block_of(GetParam()) == 1 ? 64 : 1);
  const Weights w = random_weights(GetParam(), 16, cols, 5);
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                    -std::numeric_limits<float>::infinity()}) {
    Rows x = random_rows(11, cols, 6);
    const std::vector<float> good = multiply(*available_kernels().front(), pack(w), x.view());
    x.values[3 * cols + 5] = bad;
    for (const KernelTable* table : available_kernels()) {
      quantize(*table, x);
      const std::vector<float> y = multiply(*table, pack(w), x.view());
      for (size_t t = 0; t < x.rows; ++t) {
        for (size_t r = 0; r < w.rows; ++r) {
          const float value = y[t * 18 + r];
          if (t == 3) {
            ASSERT_FALSE(std::isfinite(value)) << table->name;
          } else {
            ASSERT_EQ(value, good[t * 18 + r]) << table->name;
          }
        }
      }
    }
  }
}

TEST_P(MatmulOfType, ReadsPanelsAndRowsFromAnyAlignedAddress) {
  const size_t cols = block_of(GetParam()) * (block_of(GetParam()) == 1 ? 33 : 1);
  const Weights w = random_weights(GetParam(), 20, cols, 9);
  Packed packed = pack(w);
  Rows x = random_rows(5, cols, 10);
  const std::vector<float> expected = multiply(*available_kernels().front(), packed, x.view());
  const size_t step = alignof(float);
  std::vector<std::byte> moved(packed.bytes.size() + 64);
  std::vector<float> y(expected.size() + 1, kUntouched);
  std::vector<int8_t> codes(x.codes.size() + 1);
  for (size_t shift : {step, 3 * step}) {
    std::memcpy(moved.data() + shift, packed.bytes.data(), packed.bytes.size());
    packed.matrix.panels = moved.data() + shift;
    std::memcpy(codes.data() + 1, x.codes.data(), x.codes.size());
    Activations view = x.view();
    view.quantized.codes = codes.data() + 1;
    for (const KernelTable* table : available_kernels()) {
      table->matmul(packed.matrix, view, 0, 2, y.data() + 1, w.rows + 2);
      EXPECT_TRUE(same_bits(expected, std::span(y).subspan(1))) << table->name;
    }
  }
}

}  // namespace
}  // namespace oxbow::kernels
