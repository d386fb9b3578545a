#include "kernels/scalar_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "kernels/simd/exact_fma.h"

namespace oxbow::kernels {
namespace {

// Worst relative distance to a reference in extended precision.
class Worst {
 public:
  void see(double actual, long double expected) {
    if (expected == 0) return;
    const double error =
        static_cast<double>(std::fabs((static_cast<long double>(actual) - expected) / expected));
    worst_ = std::max(worst_, error);
  }
  double relative() const { return worst_; }

 private:
  double worst_ = 0;
};

std::mt19937_64 random_source(1);

double uniform(double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random_source);
}

TEST(ScalarMath, ExpIsAccurateToThreeTenthsOfAQuadrillionth) {
  Worst worst;
  for (int i = 0; i < 200000; ++i) {
    const double x = i % 2 == 0 ? uniform(-700, 709) : uniform(-1, 1);
    worst.see(exp_double(x), std::exp(static_cast<long double>(x)));
  }
  EXPECT_LT(worst.relative(), 3e-16);
  EXPECT_EQ(exp_double(0), 1);
  EXPECT_EQ(exp_double(-HUGE_VAL), 0);
  EXPECT_EQ(exp_double(1000), HUGE_VAL);
  EXPECT_EQ(exp_double(-1000), 0);
  EXPECT_TRUE(std::isnan(exp_double(NAN)));
  EXPECT_NEAR(exp_double(-740), static_cast<double>(std::exp(-740.0L)), 1e-323);
}

TEST(ScalarMath, LogIsAccurateToTwoTenthsOfAQuadrillionth) {
  Worst worst;
  for (int i = 0; i < 200000; ++i) {
    const double x = i % 2 == 0 ? std::exp2(uniform(-1070, 1023)) : uniform(0.5, 2);
    worst.see(log_double(x), std::log(static_cast<long double>(x)));
  }
  EXPECT_LT(worst.relative(), 2e-16);
  EXPECT_EQ(log_double(1), 0);
  EXPECT_EQ(log_double(0), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(log_double(-1)));
}

TEST(ScalarMath, PowIsAccurateEvenWhereTheExponentIsLarge) {
  Worst worst;
  for (int i = 0; i < 200000; ++i) {
    const double x = std::exp2(uniform(-30, 30)), y = uniform(-20, 20);
    worst.see(pow_double(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y)));
  }
  EXPECT_LT(worst.relative(), 4e-16);
  EXPECT_EQ(pow_double(2, 10), 1024);
  EXPECT_EQ(pow_double(10000, 0), 1);
  EXPECT_EQ(pow_double(1, 1e300), 1);
  EXPECT_EQ(pow_double(10, 1e300), HUGE_VAL);
  EXPECT_EQ(pow_double(10, -1e300), 0);
}

TEST(ScalarMath, SineAndCosineAreAccurateUpToTwoToThe30) {
  Worst worst;
  for (int i = 0; i < 300000; ++i) {
    const double x = i % 3 == 0   ? uniform(-4, 4)
                     : i % 3 == 1 ? uniform(-0x1p30, 0x1p30)
                                  : std::floor(uniform(0, 1e6));
    double s, c;
    sin_cos_double(x, s, c);
    worst.see(s, std::sin(static_cast<long double>(x)));
    worst.see(c, std::cos(static_cast<long double>(x)));
  }
  EXPECT_LT(worst.relative(), 3e-16);
}

TEST(ScalarMath, SineAndCosineAreAccurateBesideMultiplesOfHalfPi) {
  Worst worst;
  for (int i = 0; i < 100000; ++i) {
    const double n = std::floor(uniform(1, 0x1p29));
    const double x = static_cast<double>(n * 1.57079632679489661923132169163975144L);
    double s, c;
    sin_cos_double(x, s, c);
    worst.see(s, std::sin(static_cast<long double>(x)));
    worst.see(c, std::cos(static_cast<long double>(x)));
  }
  EXPECT_LT(worst.relative(), 3e-16);
}

TEST(ScalarMath, SineAndCosineOfZeroAreExact) {
  double s, c;
  sin_cos_double(0, s, c);
  EXPECT_EQ(s, 0);
  EXPECT_EQ(c, 1);
}

float from_word(uint32_t word) {
  return std::bit_cast<float>(word);
}

TEST(ExactFma, RoundsOnceForAnyFloats) {
  std::mt19937 random(7);
  const auto expect_fused = [](float a, float b, float c) {
    const float actual = portable::exact_fma(a, b, c), expected = std::fmaf(a, b, c);
    const bool both_nan = std::isnan(actual) && std::isnan(expected);
    ASSERT_TRUE(both_nan || std::bit_cast<uint32_t>(actual) == std::bit_cast<uint32_t>(expected))
        << std::hexfloat << a << " * " << b << " + " << c << " = " << actual << ", not " << expected;
  };
  for (int i = 0; i < 500000; ++i)
    expect_fused(from_word(random()), from_word(random()), from_word(random()));
  for (int i = 0; i < 500000; ++i) {
    // Few significant bits and close exponents: many exact ties of the final rounding.
    const auto short_float = [&](int spread) {
      const float m = static_cast<float>(static_cast<int32_t>(random() % 8193) - 4096);
      return std::ldexp(m, static_cast<int>(random() % spread) - spread / 2);
    };
    expect_fused(short_float(8), short_float(8), short_float(60));
    expect_fused(short_float(130), short_float(130), short_float(250));
  }
}

TEST(ExactFma, BreaksTiesByTheBitsBelowDoublePrecision) {
  // 1 + 2^-24 is a tie in float; 2^-80 lies below the last place of the double sum and must decide it.
  const float c = 1.0f, a = 0x1.000002p-24f;
  EXPECT_EQ(portable::exact_fma(0x1p-40f, 0x1p-40f, c), 1.0f);
  EXPECT_EQ(portable::exact_fma(a, 1.0f, c), std::fmaf(a, 1.0f, c));
  EXPECT_EQ(portable::exact_fma(0x1.fffffep23f, 0x1.fffffep23f, 0x1p-100f),
            std::fmaf(0x1.fffffep23f, 0x1.fffffep23f, 0x1p-100f));
  EXPECT_EQ(portable::exact_fma(0x1.000002p12f, 0x1.fffffcp11f, 0x1p-60f),
            std::fmaf(0x1.000002p12f, 0x1.fffffcp11f, 0x1p-60f));
}

}  // namespace
}  // namespace oxbow::kernels
