// What token shifts and low-rank gates are made of: tanh, scaled exponentials, mixing of two rows, dot
// products.

#include "kernel_fixture.h"

namespace oxbow::kernels {
namespace {

TEST(Mixing, IsRightForEveryLengthAndStaysInBounds) {
  for (size_t n : kOddSizes) {
    const std::vector<float> a = random_floats(n, 1, -4.0f, 4.0f), b = random_floats(n, 2),
                             m = random_floats(n, 3, 0.0f, 1.0f);
    const auto run = [&](auto kernel) {
      return run_everywhere([&](const KernelTable& table) {
        Guarded<float> x(a, 3), z(b, 5), y(n);
        kernel(table, x.data(), z.data(), y.data());
        return y.values();
      });
    };
    const auto tangent =
        run([&](const KernelTable& table, float* x, float*, float* y) { table.tanh(x, n, y); });
    const auto decay =
        run([&](const KernelTable& table, float* x, float*, float* y) { table.exp_scaled(x, -0.6f, n, y); });
    const auto mixed = run(
        [&](const KernelTable& table, float* x, float* z, float* y) { table.lerp(x, z, m.data(), n, y); });
    for (size_t i = 0; i < n; ++i) {
      EXPECT_LE(ulps(tangent[i], std::tanh(static_cast<double>(a[i]))), 4.0) << a[i];
      EXPECT_LE(ulps(decay[i], std::exp(static_cast<double>(-0.6f * a[i]))), 2.0) << a[i];
      EXPECT_NEAR(mixed[i], a[i] + (static_cast<double>(b[i]) - a[i]) * m[i], 1e-6);
    }
    const auto products = run_everywhere([&](const KernelTable& table) {
      Guarded<float> x(a, 3), z(b, 5);
      return std::vector<float>{table.dot(x.data(), z.data(), n)};
    });
    double expected = 0.0;
    for (size_t i = 0; i < n; ++i) expected += static_cast<double>(a[i]) * b[i];
    EXPECT_NEAR(products[0], expected, 1e-6 * (1.0 + static_cast<double>(n)));
  }
}

TEST(Mixing, TanhIsAccurateWhereItsTwoFormulasMeet) {
  std::vector<float> x;
  for (float v = 1e-6f; v < 20.0f; v *= 1.003f) {
    x.push_back(v);
    x.push_back(-v);
  }
  const auto y = run_everywhere([&](const KernelTable& table) {
    std::vector<float> values(x.size());
    table.tanh(x.data(), x.size(), values.data());
    return values;
  });
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(ulps(y[i], std::tanh(static_cast<double>(x[i]))), 4.0) << x[i];
  }
}

TEST(Mixing, GivesTheSameBitsForAnyFloatsAtAll) {
  const size_t n = 20000;
  const std::vector<float> a = wild_floats(n, 3), b = wild_floats(n, 4), m = wild_floats(n, 5);
  run_everywhere([&](const KernelTable& table) {
    std::vector<float> all(3 * n);
    table.tanh(a.data(), n, all.data());
    table.exp_scaled(a.data(), -0.6f, n, all.data() + n);
    table.lerp(a.data(), b.data(), m.data(), n, all.data() + 2 * n);
    return all;
  });
}

TEST(Mixing, WorksInPlace) {
  const size_t n = 77;
  const std::vector<float> a = random_floats(n, 5), b = random_floats(n, 6), m = random_floats(n, 7);
  run_everywhere([&](const KernelTable& table) {
    std::vector<float> apart(n), in_place = a;
    table.tanh(a.data(), n, apart.data());
    table.tanh(in_place.data(), n, in_place.data());
    EXPECT_TRUE(same_bits(apart, in_place));
    table.exp_scaled(a.data(), 0.3f, n, apart.data());
    in_place = a;
    table.exp_scaled(in_place.data(), 0.3f, n, in_place.data());
    EXPECT_TRUE(same_bits(apart, in_place));
    table.lerp(a.data(), b.data(), m.data(), n, apart.data());
    for (const std::vector<float>* operand : {&a, &b, &m}) {
      in_place = *operand;
      const auto pick = [&](const std::vector<float>& values) {
        return &values == operand ? in_place.data() : values.data();
      };
      table.lerp(pick(a), pick(b), pick(m), n, in_place.data());
      EXPECT_TRUE(same_bits(apart, in_place));
    }
    return apart;
  });
}

TEST(Mixing, TanhTreatsSpecialValuesAsTheLimitsDo) {
  const std::vector<float> x = {-kInf, -1e30f, -0.0f, 0.0f, 1e30f, kInf};
  for (const KernelTable* table : available_kernels()) {
    std::vector<float> y(x.size());
    table->tanh(x.data(), x.size(), y.data());
    EXPECT_EQ(y, (std::vector<float>{-1.0f, -1.0f, 0.0f, 0.0f, 1.0f, 1.0f}));
    const float nan = kNan;
    table->tanh(&nan, 1, y.data());
    EXPECT_TRUE(std::isnan(y[0]));
  }
}

TEST(LayerNorm, MatchesTheReferenceForEveryLength) {
  for (size_t n : kOddSizes) {
    const std::vector<float> x = random_floats(n, 8, -1.0f, 3.0f), w = random_floats(n, 9),
                             b = random_floats(n, 10);
    const auto y = run_everywhere([&](const KernelTable& table) {
      Guarded<float> values(x, 3);
      table.layer_norm(values.data(), w.data(), b.data(), n, 1e-5f, values.data());
      return values.values();
    });
    double mean = 0.0;
    double variance = 0.0;
    for (float v : x) mean += v / static_cast<double>(n);
    for (float v : x) variance += (v - mean) * (v - mean) / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(y[i], (x[i] - mean) / std::sqrt(variance + 1e-5f) * w[i] + b[i], 1e-4) << n;
    }
  }
}

}  // namespace
}  // namespace oxbow::kernels
