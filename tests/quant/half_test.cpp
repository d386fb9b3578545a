#include "quant/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace oxbow::quant {
namespace {

constexpr uint32_t kInfinity = 0x7c00;

uint32_t bits_of(float value) {
  return std::bit_cast<uint32_t>(value);
}

// The value of a binary16 by its definition, in double.
double defined_value(uint32_t h) {
  const double sign = (h & 0x8000) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>((h >> 10) & 31);
  const double mantissa = h & 0x3ff;
  if (exponent == 31) return sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

bool is_nan(uint32_t h) {
  return (h & 0x7fff) > kInfinity;
}

TEST(Half, EveryBinary16HasItsDefinedValue) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const float value = half_to_float(static_cast<uint16_t>(h));
    if (is_nan(h)) {
      ASSERT_TRUE(std::isnan(value)) << h;
    } else {
      ASSERT_EQ(static_cast<double>(value), defined_value(h)) << h;
    }
    ASSERT_EQ(std::signbit(value), (h & 0x8000) != 0) << h;
  }
}

TEST(Half, EveryBinary16SurvivesTheWayThroughFloat) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const uint32_t expected = is_nan(h) ? h | 0x200 : h;  // a NaN comes back quiet
    ASSERT_EQ(float_to_half(half_to_float(static_cast<uint16_t>(h))), expected) << h;
  }
}

TEST(Half, BetweenNeighboursRoundsToTheNearestAndTiesToEven) {
  for (uint32_t low = 0; low + 1 < kInfinity; ++low) {
    const uint32_t high = low + 1;
    const float middle = static_cast<float>((defined_value(low) + defined_value(high)) / 2);
    const uint32_t even = (low & 1) == 0 ? low : high;
    ASSERT_EQ(float_to_half(middle), even) << low;
    ASSERT_EQ(float_to_half(-middle), even | 0x8000) << low;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0f)), low) << low;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 1e6f)), high) << low;
  }
}

TEST(Half, TooLargeBecomesInfinityFromHalfwayOn) {
  EXPECT_EQ(float_to_half(65504.0f), 0x7bff);
  EXPECT_EQ(float_to_half(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), kInfinity);
  EXPECT_EQ(float_to_half(-65520.0f), kInfinity | 0x8000);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::max()), kInfinity);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::infinity()), kInfinity);
}

TEST(Half, TinyValuesKeepTheirSign) {
  EXPECT_EQ(float_to_half(0.0f), 0);
  EXPECT_EQ(float_to_half(-0.0f), 0x8000);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(float_to_half(-std::numeric_limits<float>::min()), 0x8000);
  EXPECT_EQ(float_to_half(0x1p-25f), 0);  // tie, zero is even
  EXPECT_EQ(float_to_half(std::nextafter(0x1p-25f, 1.0f)), 1);
  EXPECT_EQ(float_to_half(0x1.8p-24f), 2);  // tie between 1 and 2
}

#if defined(__x86_64__)
__attribute__((target("f16c,avx"))) uint16_t hardware_half(float value) {
  return static_cast<uint16_t>(_mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT)));
}

__attribute__((target("f16c,avx"))) float hardware_float(uint16_t h) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h)));
}

TEST(Half, AgreesWithTheProcessorsConversion) {
  if (!cpu_features().avx2) GTEST_SKIP() << "this processor has no F16C";
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const auto half = static_cast<uint16_t>(h);
    const uint32_t quiet = is_nan(h) ? 0x400000U : 0U;
    ASSERT_EQ(bits_of(half_to_float(half)) | quiet, bits_of(hardware_float(half))) << h;
  }
  // 251 is odd, so the low bits of the samples take every value.
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 251) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    ASSERT_EQ(float_to_half(value), hardware_half(value)) << std::hex << bits;
  }
}
#endif

TEST(Bfloat16, EveryValueSurvivesTheWayThroughFloat) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const bool nan = (h & 0x7fff) > 0x7f80;
    const float value = bf16_to_float(static_cast<uint16_t>(h));
    ASSERT_EQ(bits_of(value), h << 16);
    ASSERT_EQ(std::isnan(value), nan) << h;
    ASSERT_EQ(float_to_bf16(value), nan ? h | 0x40 : h) << h;
  }
}

TEST(Bfloat16, BetweenNeighboursRoundsToTheNearestAndTiesToEven) {
  for (uint32_t low = 0; low < 0x7f80; ++low) {  // the last pair ends in infinity
    const uint32_t even = (low & 1) == 0 ? low : low + 1;
    const uint32_t middle = (low << 16) | 0x8000;
    ASSERT_EQ(float_to_bf16(std::bit_cast<float>(middle)), even) << low;
    ASSERT_EQ(float_to_bf16(std::bit_cast<float>(middle | 0x80000000U)), even | 0x8000) << low;
    ASSERT_EQ(float_to_bf16(std::bit_cast<float>(middle - 1)), low) << low;
    ASSERT_EQ(float_to_bf16(std::bit_cast<float>(middle + 1)), low + 1) << low;
  }
}

TEST(Bfloat16, NansStayNansWhateverTheirPayload) {
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x7f800001U)), 0x7fc0);
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0xffffffffU)), 0xffff);
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::infinity()), 0x7f80);
}

}  // namespace
}  // namespace oxbow::quant
