#include "kernel_fixture.h"

namespace oxbow::kernels {
namespace {

double inverse_rms(std::span<const double> x, double eps) {
  double squares = 0;
  for (double v : x) squares += v * v;
  return 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
}

TEST(RmsNorm, MatchesTheReferenceForEveryLength) {
  for (size_t n : kOddSizes) {
    const std::vector<float> x = random_floats(n, 1), w = random_floats(n, 2);
    const auto y = run_everywhere([&](const KernelTable& table) {
      Guarded<float> in(x, 3), weights(w, 5), out(n);
      table.rms_norm(in.data(), weights.data(), n, 1e-5f, out.data());
      return out.values();
    });
    const std::vector<double> wide(x.begin(), x.end());
    const double factor = inverse_rms(wide, 1e-5f);
    for (size_t i = 0; i < n; ++i)
      EXPECT_NEAR(y[i], x[i] * factor * w[i], 1e-6 * std::fabs(x[i] * factor * w[i]));
  }
}

TEST(RmsNorm, WorksInPlaceAndWithoutWeights) {
  const size_t n = 77;
  const std::vector<float> x = random_floats(n, 3), ones(n, 1.0f);
  const auto with_ones = run_everywhere([&](const KernelTable& table) {
    std::vector<float> y(n);
    table.rms_norm(x.data(), ones.data(), n, 1e-6f, y.data());
    return y;
  });
  const auto in_place = run_everywhere([&](const KernelTable& table) {
    std::vector<float> y = x;
    table.rms_norm(y.data(), nullptr, n, 1e-6f, y.data());
    return y;
  });
  EXPECT_TRUE(same_bits(with_ones, in_place));
}

TEST(RmsNorm, OfZerosIsZero) {
  const std::vector<float> x(40, 0.0f);
  for (float v : run_everywhere([&](const KernelTable& table) {
         std::vector<float> y(x.size(), 1.0f);
         table.rms_norm(x.data(), nullptr, x.size(), 1e-6f, y.data());
         return y;
       })) {
    EXPECT_EQ(v, 0.0f);
  }
}

TEST(GateNorm, MatchesTheReferenceForEveryLength) {
  for (size_t n : kOddSizes) {
    const std::vector<float> x = random_floats(n, 4), z = random_floats(n, 5, -6.0f, 6.0f),
                             w = random_floats(n, 6);
    const auto gated = run_everywhere([&](const KernelTable& table) {
      Guarded<float> in(x, 3), gate(z, 2);
      table.gate_norm(in.data(), gate.data(), nullptr, n, 1e-5f, in.data());
      return in.values();
    });
    const auto normed = run_everywhere([&](const KernelTable& table) {
      Guarded<float> in(x, 3), gate(z, 2), weights(w, 9), out(n);
      table.gate_norm(in.data(), gate.data(), weights.data(), n, 1e-5f, out.data());
      return out.values();
    });
    std::vector<double> wide(n);
    for (size_t i = 0; i < n; ++i) wide[i] = x[i] * silu_reference(z[i]);
    const double factor = n == 0 ? 0 : inverse_rms(wide, 1e-5f);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(gated[i], wide[i], 1e-6 * std::fabs(wide[i]));
      EXPECT_NEAR(normed[i], wide[i] * factor * w[i], 2e-6 * std::fabs(wide[i] * factor * w[i]));
    }
  }
}

}  // namespace
}  // namespace oxbow::kernels
