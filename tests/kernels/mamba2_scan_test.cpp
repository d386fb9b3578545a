#include "kernel_fixture.h"

namespace oxbow::kernels {
namespace {

struct Problem {
  Problem(size_t tokens_in, size_t head_dim_in, size_t state_size_in, uint32_t seed)
      : tokens(tokens_in), head_dim(head_dim_in), state_size(state_size_in) {
    dt = random_floats(tokens * kDtStride, seed, 0.001f, 0.4f);
    x = random_floats(tokens * (head_dim + 3), seed + 1);
    b = random_floats(tokens * (state_size + 5), seed + 2);
    c = random_floats(tokens * (state_size + 5), seed + 3);
    state = std::vector<float>(mamba2_state_floats(head_dim, state_size), 0.0f);
    const std::vector<float> values = random_floats(head_dim * state_size, seed + 4);
    for (size_t p = 0; p < head_dim; ++p) {
      for (size_t n = 0; n < state_size; ++n) state[state_index(p, n)] = values[p * state_size + n];
    }
  }

  size_t state_index(size_t p, size_t n) const { return (p / 16 * state_size + n) * 16 + p % 16; }

  // Runs tokens [first, first + count) and leaves the outputs in y.
  void run(const KernelTable& table, size_t first, size_t count, float* state_inout, float* y) const {
    Mamba2ScanArgs args;
    args.tokens = count;
    args.head_dim = head_dim;
    args.state_size = state_size;
    args.a = kA;
    args.d = kD;
    args.dt = dt.data() + first * kDtStride;
    args.dt_stride = kDtStride;
    args.x = x.data() + first * (head_dim + 3);
    args.x_stride = head_dim + 3;
    args.b = b.data() + first * (state_size + 5);
    args.c = c.data() + first * (state_size + 5);
    args.bc_stride = state_size + 5;
    args.state = state_inout;
    args.y = y == nullptr ? nullptr : y + first * head_dim;
    args.y_stride = head_dim;
    table.mamba2_scan(args);
  }

  static constexpr size_t kDtStride = 3;
  static constexpr float kA = -1.3f;
  static constexpr float kD = 0.6f;
  size_t tokens, head_dim, state_size;
  std::vector<float> dt, x, b, c, state;
};

// Outputs, then the state after the last token.
std::vector<float> whole_run(const Problem& problem, const KernelTable& table) {
  Guarded<float> state(problem.state, 3), y(problem.tokens * problem.head_dim);
  problem.run(table, 0, problem.tokens, state.data(), y.data());
  std::vector<float> all = y.values();
  const std::vector<float> after = state.values();
  all.insert(all.end(), after.begin(), after.end());
  return all;
}

std::vector<double> reference(const Problem& problem) {
  std::vector<double> state(problem.state.begin(), problem.state.end()), all;
  for (size_t t = 0; t < problem.tokens; ++t) {
    const double dt = problem.dt[t * Problem::kDtStride], decay = std::exp(dt * Problem::kA);
    for (size_t p = 0; p < problem.head_dim; ++p) {
      const double x = problem.x[t * (problem.head_dim + 3) + p];
      double y = Problem::kD * x;
      for (size_t n = 0; n < problem.state_size; ++n) {
        double& s = state[problem.state_index(p, n)];
        s = decay * s + dt * x * problem.b[t * (problem.state_size + 5) + n];
        y += s * problem.c[t * (problem.state_size + 5) + n];
      }
      all.push_back(y);
    }
  }
  all.insert(all.end(), state.begin(), state.end());
  return all;
}

TEST(Mamba2Scan, MatchesTheReferenceForWholeAndPartialBlocks) {
  for (size_t head_dim : {1, 8, 16, 17, 31, 64, 80}) {
    for (size_t state_size : {1, 2, 3, 4, 7, 16, 64, 128}) {
      for (size_t tokens : {0, 1, 5, 70}) {
        const Problem problem(tokens, head_dim, state_size, 1);
        const auto actual =
            run_everywhere([&](const KernelTable& table) { return whole_run(problem, table); });
        const std::vector<double> expected = reference(problem);
        ASSERT_EQ(actual.size(), expected.size());
        for (size_t i = 0; i < actual.size(); ++i) {
          ASSERT_NEAR(actual[i], expected[i], 2e-5 + 1e-6 * std::fabs(expected[i]))
              << head_dim << " " << state_size;
        }
      }
    }
  }
}

TEST(Mamba2Scan, LeavesUnusedLanesOfTheStateZero) {
  const Problem problem(9, 21, 10, 2);
  run_everywhere([&](const KernelTable& table) {
    std::vector<float> state = problem.state;
    problem.run(table, 0, problem.tokens, state.data(), nullptr);
    for (size_t p = 21; p < 32; ++p) {
      for (size_t n = 0; n < 10; ++n)
        EXPECT_EQ(std::bit_cast<uint32_t>(state[problem.state_index(p, n)]), 0U);
    }
    return state;
  });
}

TEST(Mamba2Scan, GivesTheSameBitsForAnySplitOfTheTokens) {
  const Problem problem(150, 40, 33, 3);
  std::mt19937 random(4);
  run_everywhere([&](const KernelTable& table) {
    const std::vector<float> whole = whole_run(problem, table);
    for (int trial = 0; trial < 6; ++trial) {
      std::vector<float> state = problem.state, y(problem.tokens * problem.head_dim);
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

TEST(Mamba2Scan, AdvancesTheStateAlikeWithoutOutputs) {
  const Problem problem(20, 64, 128, 5);
  run_everywhere([&](const KernelTable& table) {
    std::vector<float> with = problem.state, without = problem.state, y(problem.tokens * problem.head_dim);
    problem.run(table, 0, problem.tokens, with.data(), y.data());
    problem.run(table, 0, problem.tokens, without.data(), nullptr);
    EXPECT_TRUE(same_bits(with, without));
    return without;
  });
}

}  // namespace
}  // namespace oxbow::kernels
