#include "kernel_fixture.h"

namespace oxbow::kernels {
namespace {

struct Case {
  size_t head_dim;
  size_t n_rot;
};

TEST(Rope, RotatesThePairsOfBothStylesAndLeavesTheRest) {
  for (const Case& c :
       {Case{64, 64}, Case{128, 128}, Case{128, 64}, Case{80, 20}, Case{10, 6}, Case{33, 2}, Case{8, 0}}) {
    for (RopeStyle style : {RopeStyle::kNorm, RopeStyle::kNeox}) {
      const size_t heads = 3, half = c.n_rot / 2;
      const std::vector<float> x = random_floats(heads * c.head_dim, 1);
      std::vector<float> cosine(half), sine(half);
      for (size_t j = 0; j < half; ++j) {
        cosine[j] = std::cos(0.3f * static_cast<float>(j) + 1);
        sine[j] = std::sin(0.3f * static_cast<float>(j) + 1);
      }
      const auto y = run_everywhere([&](const KernelTable& table) {
        Guarded<float> rows(x, 3), cos_row(cosine, 5), sin_row(sine, 7);
        table.rope(rows.data(), heads, c.head_dim, c.n_rot, style, cos_row.data(), sin_row.data());
        return rows.values();
      });
      std::vector<double> expected(x.begin(), x.end());
      for (size_t h = 0; h < heads; ++h) {
        for (size_t j = 0; j < half; ++j) {
          const size_t a = h * c.head_dim + (style == RopeStyle::kNorm ? 2 * j : j);
          const size_t b = style == RopeStyle::kNorm ? a + 1 : a + half;
          expected[a] = double{x[a]} * cosine[j] - double{x[b]} * sine[j];
          expected[b] = double{x[a]} * sine[j] + double{x[b]} * cosine[j];
        }
      }
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_NEAR(y[i], expected[i], 5e-7) << c.head_dim << " " << c.n_rot << " " << i;
    }
  }
}

TEST(Conv, AddsTheTapsOldestFirstFromTheBias) {
  for (size_t channels : kOddSizes) {
    for (size_t tap_count : {1, 3, 4}) {
      const std::vector<float> weights = random_floats(tap_count * channels, 2),
                               bias = random_floats(channels, 3);
      const std::vector<float> inputs = random_floats(tap_count * channels, 4);
      std::vector<const float*> taps;
      for (size_t i = 0; i < tap_count; ++i) taps.push_back(inputs.data() + i * channels);
      for (bool with_bias : {false, true}) {
        for (bool with_silu : {false, true}) {
          const auto y = run_everywhere([&](const KernelTable& table) {
            Guarded<float> out(channels), w(weights, 5);
            table.conv(taps.data(), w.data(), with_bias ? bias.data() : nullptr, tap_count, channels,
                       with_silu, out.data());
            return out.values();
          });
          for (size_t c = 0; c < channels; ++c) {
            float sum = with_bias ? bias[c] : 0.0f;
            for (size_t i = 0; i < tap_count; ++i)
              sum = std::fmaf(weights[i * channels + c], taps[i][c], sum);
            if (with_silu) {
              ASSERT_LE(ulps(y[c], silu_reference(sum)), 3.0);
            } else {
              ASSERT_TRUE(same_bits(y[c], sum));
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace oxbow::kernels
