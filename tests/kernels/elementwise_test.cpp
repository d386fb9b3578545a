#include "kernel_fixture.h"
#include "kernels/body/math.h"
#include "kernels/scalar_math.h"

namespace oxbow::kernels {
namespace {

std::vector<float> softplus_everywhere(const std::vector<float>& x) {
  return run_everywhere([&](const KernelTable& table) {
    Guarded<float> y(x.size());
    table.softplus(x.data(), nullptr, x.size(), y.data());
    return y.values();
  });
}

std::vector<float> silu_everywhere(const std::vector<float>& x) {
  const std::vector<float> ones(x.size(), 1.0f);
  return run_everywhere([&](const KernelTable& table) {
    Guarded<float> y(x.size());
    table.silu_mul(x.data(), ones.data(), x.size(), y.data());
    return y.values();
  });
}

float exp_lane(float x) {
  return portable::first_lane(portable::exp(portable::broadcast(x)));
}

TEST(Exp, IsWithinOneUlpOfTheTruth) {
  double worst = 0;
  for (float x : random_floats(200000, 1, -104.0f, 89.0f))
    worst = std::max(worst, ulps(exp_float(x), std::exp(static_cast<double>(x))));
  for (float x : random_floats(200000, 2, -1.0f, 1.0f))
    worst = std::max(worst, ulps(exp_float(x), std::exp(static_cast<double>(x))));
  EXPECT_LE(worst, 1.0);
  RecordProperty("worst_ulps", std::to_string(worst));
}

TEST(Exp, ScalarAndLaneGiveTheSameBits) {
  for (float x : random_floats(20000, 3, -110.0f, 95.0f))
    ASSERT_TRUE(same_bits(exp_float(x), exp_lane(x))) << x;
  for (float x : wild_floats(20000, 4)) ASSERT_TRUE(same_bits(exp_float(x), exp_lane(x))) << x;
}

TEST(Exp, TreatsSpecialValuesAsTheLimitsDo) {
  EXPECT_EQ(exp_float(0.0f), 1.0f);
  EXPECT_EQ(exp_float(-0.0f), 1.0f);
  EXPECT_EQ(exp_float(-kInf), 0.0f);
  EXPECT_EQ(exp_float(kInf), kInf);
  EXPECT_EQ(exp_float(1e30f), kInf);
  EXPECT_EQ(exp_float(-1e30f), 0.0f);
  EXPECT_TRUE(std::isnan(exp_float(kNan)));
  EXPECT_GT(exp_float(-103.0f), 0.0f);  // subnormal
}

TEST(SiluMul, IsWithinThreeUlpsAndTheSameEverywhere) {
  const std::vector<float> x = random_floats(100000, 5, -80.0f, 80.0f);
  const std::vector<float> y = silu_everywhere(x);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, ulps(y[i], silu_reference(x[i])));
  EXPECT_LE(worst, 3.0);
}

TEST(SiluMul, IsMinusZeroFarBelowAndNeverNanForNumbers) {
  const std::vector<float> y = silu_everywhere({-kInf, -1e30f, -200.0f, -0.0f, 0.0f, 1e30f, kInf, kNan});
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(y[i] == 0.0f && std::signbit(y[i])) << i;
  EXPECT_TRUE(y[4] == 0.0f && !std::signbit(y[4]));
  EXPECT_EQ(y[5], 1e30f);
  EXPECT_EQ(y[6], kInf);
  EXPECT_TRUE(std::isnan(y[7]));
}

TEST(Softplus, IsWithinThreeUlpsAndTheSameEverywhere) {
  std::vector<float> x = random_floats(100000, 6, -80.0f, 25.0f);
  const std::vector<float> near = random_floats(100000, 7, -2.0f, 2.0f);
  x.insert(x.end(), near.begin(), near.end());
  const std::vector<float> y = softplus_everywhere(x);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, ulps(y[i], x[i] > 20 ? x[i] : std::log1p(std::exp(static_cast<double>(x[i])))));
  }
  EXPECT_LE(worst, 3.0);
}

TEST(Softplus, TreatsSpecialValuesAsTheLimitsDo) {
  const std::vector<float> y = softplus_everywhere({-kInf, -1e30f, 0.0f, 20.5f, 1e30f, kInf, kNan});
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[1], 0.0f);
  EXPECT_LE(ulps(y[2], std::log(2.0)), 2.0);
  EXPECT_EQ(y[3], 20.5f);
  EXPECT_EQ(y[4], 1e30f);
  EXPECT_EQ(y[5], kInf);
  EXPECT_TRUE(std::isnan(y[6]));
}

TEST(Softplus, AddsTheBiasFirst) {
  for (size_t n : kOddSizes) {
    const std::vector<float> x = random_floats(n, 8), bias = random_floats(n, 9);
    const std::vector<float> y = run_everywhere([&](const KernelTable& table) {
      Guarded<float> out(n), in(x), b(bias, 3);
      table.softplus(in.data(), b.data(), n, out.data());
      return out.values();
    });
    for (size_t i = 0; i < n; ++i)
      EXPECT_LE(ulps(y[i], std::log1p(std::exp(static_cast<double>(x[i] + bias[i])))), 3.0);
  }
}

TEST(RowKernels, AreRightForEveryLengthAndStayInBounds) {
  for (size_t n : kOddSizes) {
    const std::vector<float> x = random_floats(n, 10), z = random_floats(n, 11);
    const auto added = run_everywhere([&](const KernelTable& table) {
      Guarded<float> in(x, 5), out(z, 2);
      table.add_scaled(in.data(), 0.7f, n, out.data());
      return out.values();
    });
    const auto scaled = run_everywhere([&](const KernelTable& table) {
      Guarded<float> in_place(x, 3);
      table.scale(in_place.data(), 0.7f, n, in_place.data());
      return in_place.values();
    });
    const auto gated = run_everywhere([&](const KernelTable& table) {
      Guarded<float> gate(x, 3), up(z, 1);
      table.silu_mul(gate.data(), up.data(), n, up.data());
      return up.values();
    });
    for (size_t i = 0; i < n; ++i) {
      EXPECT_TRUE(same_bits(added[i], std::fmaf(0.7f, x[i], z[i])));
      EXPECT_TRUE(same_bits(scaled[i], 0.7f * x[i]));
      EXPECT_LE(ulps(gated[i], silu_reference(x[i]) * z[i]), 4.0);
    }
  }
}

TEST(RowKernels, GiveTheSameBitsForAnyFloatsAtAll) {
  const std::vector<float> x = wild_floats(4099, 12), z = wild_floats(4099, 13);
  run_everywhere([&](const KernelTable& table) {
    std::vector<float> all;
    const auto keep = [&](std::vector<float> values) { all.insert(all.end(), values.begin(), values.end()); };
    const size_t n = x.size();
    std::vector<float> y = z;
    table.add_scaled(x.data(), 1e-20f, n, y.data());
    keep(y);
    table.silu_mul(x.data(), z.data(), n, y.data());
    keep(y);
    table.softplus(x.data(), z.data(), n, y.data());
    keep(y);
    y = x;
    table.softmax(y.data(), n);
    keep(y);
    table.rms_norm(x.data(), z.data(), n, 1e-5f, y.data());
    keep(y);
    return all;
  });
}

TEST(Softmax, MatchesTheReferenceForEveryLength) {
  for (size_t n : kOddSizes) {
    const std::vector<float> x = random_floats(n, 14, -30.0f, 30.0f);
    const std::vector<float> y = run_everywhere([&](const KernelTable& table) {
      Guarded<float> row(x, 7);
      table.softmax(row.data(), n);
      return row.values();
    });
    float largest = -kInf;
    for (float v : x) largest = std::max(largest, v);
    double total = 0;
    for (float v : x) total += std::exp(static_cast<double>(v - largest));
    for (size_t i = 0; i < n; ++i) {
      const double expected = std::exp(static_cast<double>(x[i] - largest)) / total;
      EXPECT_NEAR(y[i], expected, 1e-6 * expected);
    }
  }
}

TEST(Softmax, GivesZeroToMinusInfinityAndOneToASingleEntry) {
  for (size_t n : {1, 3, 17, 40}) {
    std::vector<float> x(n, -kInf);
    x[n / 2] = -300.0f;
    const std::vector<float> y = run_everywhere([&](const KernelTable& table) {
      std::vector<float> row = x;
      table.softmax(row.data(), n);
      return row;
    });
    for (size_t i = 0; i < n; ++i) EXPECT_EQ(y[i], i == n / 2 ? 1.0f : 0.0f);
  }
}

}  // namespace
}  // namespace oxbow::kernels
