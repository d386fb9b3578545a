// The gates and activations of feed-forwards and mixers, and the L2 norm.

#include "kernel_fixture.h"

namespace oxbow::kernels {
namespace {

double sigmoid_reference(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

double gelu_reference(double x) {
  return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
}

TEST(Gates, AreRightForEveryLengthAndStayInBounds) {
  for (size_t n : kOddSizes) {
    const std::vector<float> a = random_floats(n, 1, -9.0f, 9.0f), b = random_floats(n, 2);
    const auto run = [&](auto kernel) {
      return run_everywhere([&](const KernelTable& table) {
        Guarded<float> x(a, 3), z(b, 5), y(n);
        kernel(table, x.data(), z.data(), y.data());
        return y.values();
      });
    };
    const auto gelu =
        run([&](const KernelTable& table, float* x, float* z, float* y) { table.gelu_mul(x, z, n, y); });
    const auto squared =
        run([&](const KernelTable& table, float* x, float*, float* y) { table.relu_squared(x, n, y); });
    const auto sigmoid =
        run([&](const KernelTable& table, float* x, float*, float* y) { table.sigmoid(x, n, y); });
    const auto product =
        run([&](const KernelTable& table, float* x, float* z, float* y) { table.mul(x, z, n, y); });
    for (size_t i = 0; i < n; ++i) {
      const double expected = gelu_reference(a[i]) * b[i];
      EXPECT_NEAR(gelu[i], expected, 1e-6 + 2e-6 * std::fabs(expected)) << a[i];
      EXPECT_EQ(squared[i], a[i] > 0.0f ? a[i] * a[i] : 0.0f);
      EXPECT_LE(ulps(sigmoid[i], sigmoid_reference(a[i])), 3.0) << a[i];
      EXPECT_EQ(product[i], a[i] * b[i]);
    }
  }
}

TEST(Gates, GiveTheSameBitsForAnyFloatsAtAll) {
  const size_t n = 20000;
  const std::vector<float> a = wild_floats(n, 3), b = wild_floats(n, 4);
  run_everywhere([&](const KernelTable& table) {
    std::vector<float> all(4 * n);
    table.gelu_mul(a.data(), b.data(), n, all.data());
    table.relu_squared(a.data(), n, all.data() + n);
    table.sigmoid(a.data(), n, all.data() + 2 * n);
    table.mul(a.data(), b.data(), n, all.data() + 3 * n);
    return all;
  });
}

TEST(Gates, WorkInPlace) {
  const size_t n = 77;
  const std::vector<float> a = random_floats(n, 5), b = random_floats(n, 6);
  run_everywhere([&](const KernelTable& table) {
    std::vector<float> apart(n), in_place = b;
    table.gelu_mul(a.data(), b.data(), n, apart.data());
    table.gelu_mul(a.data(), in_place.data(), n, in_place.data());
    EXPECT_TRUE(same_bits(apart, in_place));
    in_place = a;
    table.relu_squared(a.data(), n, apart.data());
    table.relu_squared(in_place.data(), n, in_place.data());
    EXPECT_TRUE(same_bits(apart, in_place));
    in_place = a;
    table.sigmoid(a.data(), n, apart.data());
    table.sigmoid(in_place.data(), n, in_place.data());
    EXPECT_TRUE(same_bits(apart, in_place));
    return apart;
  });
}

TEST(Gates, TreatSpecialValuesAsTheLimitsDo) {
  const std::vector<float> x = {-kInf, -1e30f, -200.0f, 0.0f, 200.0f, kInf}, ones(x.size(), 1.0f);
  for (const KernelTable* table : available_kernels()) {
    std::vector<float> y(x.size());
    table->sigmoid(x.data(), x.size(), y.data());
    EXPECT_EQ(y, (std::vector<float>{0.0f, 0.0f, 0.0f, 0.5f, 1.0f, 1.0f}));
    table->gelu_mul(x.data(), ones.data(), x.size(), y.data());
    EXPECT_EQ(y, (std::vector<float>{0.0f, 0.0f, 0.0f, 0.0f, 200.0f, kInf}));
    const float nan = kNan;
    table->sigmoid(&nan, 1, y.data());
    EXPECT_TRUE(std::isnan(y[0]));
    table->relu_squared(&nan, 1, y.data());
    EXPECT_TRUE(std::isnan(y[0]));
  }
}

TEST(L2Norm, MatchesTheReferenceForEveryLength) {
  for (size_t n : kOddSizes) {
    const std::vector<float> x = random_floats(n, 7);
    const auto y = run_everywhere([&](const KernelTable& table) {
      Guarded<float> values(x, 3);
      table.l2_norm(values.data(), n, 1e-6f, values.data());
      return values.values();
    });
    double squares = 1e-6f;
    for (float v : x) squares += static_cast<double>(v) * v;
    for (size_t i = 0; i < n; ++i) EXPECT_NEAR(y[i], x[i] / std::sqrt(squares), 1e-6);
  }
}

}  // namespace
}  // namespace oxbow::kernels
