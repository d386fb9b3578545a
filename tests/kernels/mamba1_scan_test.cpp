#include "kernel_fixture.h"

namespace oxbow::kernels {
namespace {

// Rows are longer than what the kernel may read, so that strides count.
struct Problem {
  Problem(size_t tokens_in, size_t channels_in, size_t state_size_in, uint32_t seed)
      : tokens(tokens_in), channels(channels_in), state_size(state_size_in) {
    dt = random_floats(tokens * (channels + 1), seed, 0.001f, 0.4f);
    x = random_floats(tokens * (channels + 3), seed + 1);
    b = random_floats(tokens * (state_size + 5), seed + 2);
    c = random_floats(tokens * (state_size + 5), seed + 3);
    d = random_floats(channels, seed + 4);
    a = blocks(random_floats(channels * state_size, seed + 5, -8.0f, -0.1f));
    state = blocks(random_floats(channels * state_size, seed + 6));
  }

  size_t index(size_t channel, size_t n) const { return (channel / 16 * state_size + n) * 16 + channel % 16; }
  std::vector<float> blocks(const std::vector<float>& values) const {
    std::vector<float> out(lane_block_floats(channels, state_size), 0.0f);
    for (size_t p = 0; p < channels; ++p) {
      for (size_t n = 0; n < state_size; ++n) out[index(p, n)] = values[p * state_size + n];
    }
    return out;
  }

  // Runs tokens [first, first + count); y may be null.
  void run(const KernelTable& table, size_t first, size_t count, float* state_inout, float* y) const {
    Mamba1ScanArgs args;
    args.tokens = count;
    args.channels = channels;
    args.state_size = state_size;
    args.a = a.data();
    args.d = d.data();
    args.dt = dt.data() + first * (channels + 1);
    args.dt_stride = channels + 1;
    args.x = x.data() + first * (channels + 3);
    args.x_stride = channels + 3;
    args.b = b.data() + first * (state_size + 5);
    args.c = y == nullptr ? nullptr : c.data() + first * (state_size + 5);
    args.bc_stride = state_size + 5;
    args.state = state_inout;
    args.y = y == nullptr ? nullptr : y + first * channels;
    args.y_stride = channels;
    table.mamba1_scan(args);
  }

  size_t tokens, channels, state_size;
  std::vector<float> dt, x, b, c, d, a, state;
};

// Outputs, then the state after the last token.
std::vector<float> whole_run(const Problem& problem, const KernelTable& table) {
  Guarded<float> state(problem.state, 3), y(problem.tokens * problem.channels);
  problem.run(table, 0, problem.tokens, state.data(), y.data());
  std::vector<float> all = y.values();
  const std::vector<float> after = state.values();
  all.insert(all.end(), after.begin(), after.end());
  return all;
}

std::vector<double> reference(const Problem& problem) {
  std::vector<double> state(problem.state.begin(), problem.state.end()), all;
  for (size_t t = 0; t < problem.tokens; ++t) {
    for (size_t p = 0; p < problem.channels; ++p) {
      const double x = problem.x[t * (problem.channels + 3) + p];
      const double dt = problem.dt[t * (problem.channels + 1) + p];
      double y = problem.d[p] * x;
      for (size_t n = 0; n < problem.state_size; ++n) {
        double& s = state[problem.index(p, n)];
        s = std::exp(dt * problem.a[problem.index(p, n)]) * s +
            dt * x * problem.b[t * (problem.state_size + 5) + n];
        y += s * problem.c[t * (problem.state_size + 5) + n];
      }
      all.push_back(y);
    }
  }
  all.insert(all.end(), state.begin(), state.end());
  return all;
}

TEST(Mamba1Scan, MatchesTheReferenceForWholeAndPartialBlocks) {
  for (size_t channels : {1, 15, 16, 17, 64, 70}) {
    for (size_t state_size : {1, 2, 3, 5, 8, 16}) {
      for (size_t tokens : {0, 1, 6, 40}) {
        const Problem problem(tokens, channels, state_size, 1);
        const auto actual =
            run_everywhere([&](const KernelTable& table) { return whole_run(problem, table); });
        const std::vector<double> expected = reference(problem);
        ASSERT_EQ(actual.size(), expected.size());
        for (size_t i = 0; i < actual.size(); ++i) {
          ASSERT_NEAR(actual[i], expected[i], 2e-5 + 1e-6 * std::fabs(expected[i]))
              << channels << " " << state_size;
        }
      }
    }
  }
}

TEST(Mamba1Scan, LeavesUnusedLanesOfTheStateZero) {
  const Problem problem(9, 21, 10, 2);
  run_everywhere([&](const KernelTable& table) {
    std::vector<float> state = problem.state, y(problem.tokens * problem.channels);
    problem.run(table, 0, problem.tokens, state.data(), y.data());
    for (size_t p = 21; p < 32; ++p) {
      for (size_t n = 0; n < 10; ++n) EXPECT_EQ(std::bit_cast<uint32_t>(state[problem.index(p, n)]), 0U);
    }
    return state;
  });
}

TEST(Mamba1Scan, GivesTheSameBitsForAnySplitOfTheTokens) {
  const Problem problem(90, 40, 13, 3);
  std::mt19937 random(4);
  run_everywhere([&](const KernelTable& table) {
    const std::vector<float> whole = whole_run(problem, table);
    for (int trial = 0; trial < 5; ++trial) {
      std::vector<float> state = problem.state, y(problem.tokens * problem.channels);
      for (size_t first = 0; first < problem.tokens;) {
        const size_t wish = trial == 0 ? 1 : 1 + random() % (trial * 20);
        const size_t count = std::min(wish, problem.tokens - first);
        problem.run(table, first, count, state.data(), y.data());
        first += count;
      }
      y.insert(y.end(), state.begin(), state.end());
      EXPECT_TRUE(same_bits(whole, y)) << table.name << ", trial " << trial;
    }
    return whole;
  });
}

TEST(Mamba1Scan, AdvancesTheStateAlikeWithoutOutputs) {
  const Problem problem(20, 64, 16, 5);
  run_everywhere([&](const KernelTable& table) {
    std::vector<float> with = problem.state, without = problem.state, y(problem.tokens * problem.channels);
    problem.run(table, 0, problem.tokens, with.data(), y.data());
    problem.run(table, 0, problem.tokens, without.data(), nullptr);
    EXPECT_TRUE(same_bits(with, without));
    return without;
  });
}

}  // namespace
}  // namespace oxbow::kernels
