#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "matmul_fixture.h"

namespace oxbow::kernels {
namespace {

using testing::empty_rows;
using testing::quantize;
using testing::random_rows;
using testing::Rows;

TEST(QuantizeRows, TakesTheNearestCodeOfEveryValueAndSumsThem) {
  for (const KernelTable* table : available_kernels()) {
    for (size_t cols : {32, 64, 416}) {
      Rows x = random_rows(7, cols, 1, 3);
      quantize(*table, x);
      for (size_t t = 0; t < x.rows; ++t) {
        const Activations row = x.view(t);
        for (size_t b = 0; b < cols / 32; ++b) {
          float largest = 0;
          for (size_t i = 0; i < 32; ++i) largest = std::max(largest, std::fabs(row.values[32 * b + i]));
          const float scale = row.quantized.scales[b];
          EXPECT_EQ(scale, largest / 127.0f);
          int32_t sums[2] = {};
          for (size_t i = 0; i < 32; ++i) {
            const int code = row.quantized.codes[32 * b + i];
            EXPECT_LE(std::abs(code), 127);
            EXPECT_NEAR(code, row.values[32 * b + i] / scale, 0.5001) << table->name;
            sums[i / 16] += code;
          }
          EXPECT_EQ(row.quantized.sums[2 * b], sums[0]);
          EXPECT_EQ(row.quantized.sums[2 * b + 1], sums[1]);
        }
      }
    }
  }
}

TEST(QuantizeRows, RoundsHalvesToEven) {
  for (const KernelTable* table : available_kernels()) {
    Rows x = empty_rows(1, 32, 0);
    x.values[0] = 127.0f;  // scale 1
    const float halves[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 125.5f, 126.5f};
    const int codes[] = {0, 2, 2, 0, -2, -2, 126, 126};
    for (size_t i = 0; i < 8; ++i) x.values[1 + i] = halves[i];
    quantize(*table, x);
    EXPECT_EQ(x.scales[0], 1.0f);
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(x.codes[1 + i], codes[i]) << table->name << " " << halves[i];
  }
}

TEST(QuantizeRows, GivesTheSameBitsOnEveryInstructionSet) {
  std::mt19937 random(5);
  Rows first = empty_rows(200, 96, 0);
  for (float& v : first.values) {
    const uint32_t word = random() & 0xbfffffffU;  // exponents of every size below 2
    std::memcpy(&v, &word, 4);
  }
  for (size_t i = 0; i < 96 * 20; ++i) first.values[i] *= 0x1p126f;
  Rows others = first;
  quantize(*available_kernels().front(), first);
  for (const KernelTable* table : available_kernels()) {
    quantize(*table, others);
    EXPECT_EQ(first.codes, others.codes) << table->name;
    EXPECT_EQ(std::memcmp(first.scales.data(), others.scales.data(), 4 * first.scales.size()), 0)
        << table->name;
    EXPECT_EQ(first.sums, others.sums) << table->name;
  }
}

TEST(QuantizeRows, MakesZerosOfTinyBlocksAndANanScaleOfInfinitiesAndNans) {
  for (const KernelTable* table : available_kernels()) {
    Rows x = empty_rows(1, 5 * 32, 0);
    x.values[3] = 0x1p-120f;
    x.values[32 + 1] = std::numeric_limits<float>::denorm_min();
    x.values[64 + 31] = std::numeric_limits<float>::quiet_NaN();
    x.values[96] = -std::numeric_limits<float>::infinity();
    x.values[128] = -std::numeric_limits<float>::max();
    quantize(*table, x);
    EXPECT_EQ(x.scales[0], 0.0f) << table->name;
    EXPECT_EQ(x.scales[1], 0.0f) << table->name;
    EXPECT_TRUE(std::isnan(x.scales[2])) << table->name;
    EXPECT_TRUE(std::isnan(x.scales[3])) << table->name;
    EXPECT_EQ(x.codes[128], -127) << table->name;
    for (size_t i = 0; i < 128; ++i) EXPECT_EQ(x.codes[i], 0) << table->name;
  }
}

}  // namespace
}  // namespace oxbow::kernels
