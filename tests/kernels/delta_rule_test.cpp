#include "kernel_fixture.h"

namespace oxbow::kernels {
namespace {

constexpr float kA = -0.7f;
constexpr float kScale = 0.25f;
constexpr size_t kGateStride = 3;

// Keys have about unit length, as the L2 norm before the kernel leaves them.
struct Problem {
  Problem(size_t tokens_in, size_t key_dim_in, size_t value_dim_in, uint32_t seed)
      : tokens(tokens_in), key_dim(key_dim_in), value_dim(value_dim_in) {
    const float unit = 1.7f / std::sqrt(static_cast<float>(key_dim));
    dt = random_floats(tokens * kGateStride, seed, 0.001f, 0.5f);
    beta = random_floats(tokens * kGateStride, seed + 1, 0.0f, 1.0f);
    q = random_floats(tokens * stride(), seed + 2, -unit, unit);
    k = random_floats(tokens * stride(), seed + 3, -unit, unit);
    v = random_floats(tokens * stride(), seed + 4);
    state = std::vector<float>(lane_block_floats(value_dim, key_dim), 0.0f);
    const std::vector<float> values = random_floats(value_dim * key_dim, seed + 5);
    for (size_t p = 0; p < value_dim; ++p) {
      for (size_t n = 0; n < key_dim; ++n) state[index(n, p)] = values[p * key_dim + n];
    }
  }

  size_t stride() const { return std::max(key_dim, value_dim) + 5; }
  size_t index(size_t key, size_t value) const { return (value / 16 * key_dim + key) * 16 + value % 16; }

  void run(const KernelTable& table, size_t first, size_t count, float* state_inout, float* y) const {
    DeltaRuleArgs args;
    args.tokens = count;
    args.key_dim = key_dim;
    args.value_dim = value_dim;
    args.a = kA;
    args.scale = kScale;
    args.dt = dt.data() + first * kGateStride;
    args.beta = beta.data() + first * kGateStride;
    args.gate_stride = kGateStride;
    args.q = y == nullptr ? nullptr : q.data() + first * stride();
    args.k = k.data() + first * stride();
    args.v = v.data() + first * stride();
    args.qkv_stride = stride();
    args.state = state_inout;
    args.y = y == nullptr ? nullptr : y + first * value_dim;
    args.y_stride = value_dim;
    table.delta_rule(args);
  }

  size_t tokens, key_dim, value_dim;
  std::vector<float> dt, beta, q, k, v, state;
};

// Outputs, then the state after the last token.
std::vector<float> whole_run(const Problem& problem, const KernelTable& table) {
  Guarded<float> state(problem.state, 3), y(problem.tokens * problem.value_dim);
  problem.run(table, 0, problem.tokens, state.data(), y.data());
  std::vector<float> all = y.values();
  const std::vector<float> after = state.values();
  all.insert(all.end(), after.begin(), after.end());
  return all;
}

std::vector<double> reference(const Problem& problem) {
  std::vector<double> state(problem.state.begin(), problem.state.end()), all;
  for (size_t t = 0; t < problem.tokens; ++t) {
    const double decay = std::exp(static_cast<double>(problem.dt[t * kGateStride]) * kA);
    const float* q = problem.q.data() + t * problem.stride();
    const float* k = problem.k.data() + t * problem.stride();
    for (size_t p = 0; p < problem.value_dim; ++p) {
      double held = 0.0;
      double y = 0.0;
      for (size_t n = 0; n < problem.key_dim; ++n) held += decay * state[problem.index(n, p)] * k[n];
      const double u = problem.beta[t * kGateStride] * (problem.v[t * problem.stride() + p] - held);
      for (size_t n = 0; n < problem.key_dim; ++n) {
        double& s = state[problem.index(n, p)];
        s = decay * s + u * k[n];
        y += s * q[n];
      }
      all.push_back(kScale * y);
    }
  }
  all.insert(all.end(), state.begin(), state.end());
  return all;
}

TEST(DeltaRule, MatchesTheReferenceForWholeAndPartialBlocks) {
  for (size_t value_dim : {1, 15, 16, 17, 48, 64}) {
    for (size_t key_dim : {1, 2, 3, 6, 16, 64}) {
      for (size_t tokens : {0, 1, 5, 70}) {
        const Problem problem(tokens, key_dim, value_dim, 1);
        const auto actual =
            run_everywhere([&](const KernelTable& table) { return whole_run(problem, table); });
        const std::vector<double> expected = reference(problem);
        ASSERT_EQ(actual.size(), expected.size());
        for (size_t i = 0; i < actual.size(); ++i) {
          ASSERT_NEAR(actual[i], expected[i], 2e-5 + 1e-6 * std::fabs(expected[i]))
              << value_dim << " " << key_dim;
        }
      }
    }
  }
}

TEST(DeltaRule, WritesTheValueUnderItsKeyWhenTheStrengthIsOne) {
  Problem problem(1, 16, 16, 2);
  std::fill(problem.k.begin(), problem.k.end(), 0.0f);
  problem.k[3] = 1.0f;
  problem.q = problem.k;
  problem.beta[0] = 1.0f;
  run_everywhere([&](const KernelTable& table) {
    std::vector<float> state = problem.state, y(16);
    problem.run(table, 0, 1, state.data(), y.data());
    for (size_t p = 0; p < 16; ++p) EXPECT_NEAR(y[p], kScale * problem.v[p], 1e-6);
    return y;
  });
}

TEST(DeltaRule, LeavesUnusedLanesOfTheStateZero) {
  const Problem problem(9, 10, 21, 3);
  run_everywhere([&](const KernelTable& table) {
    std::vector<float> state = problem.state;
    problem.run(table, 0, problem.tokens, state.data(), nullptr);
    for (size_t p = 21; p < 32; ++p) {
      for (size_t n = 0; n < 10; ++n) EXPECT_EQ(state[problem.index(n, p)], 0.0f);
    }
    return state;
  });
}

TEST(DeltaRule, GivesTheSameBitsForAnySplitOfTheTokens) {
  const Problem problem(150, 33, 40, 4);
  std::mt19937 random(5);
  run_everywhere([&](const KernelTable& table) {
    const std::vector<float> whole = whole_run(problem, table);
    for (int trial = 0; trial < 5; ++trial) {
      std::vector<float> state = problem.state, y(problem.tokens * problem.value_dim);
      for (size_t first = 0; first < problem.tokens;) {
        const size_t wish = trial == 0 ? 1 : 1 + random() % (trial * 30);
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

TEST(DeltaRule, AdvancesTheStateAlikeWithoutOutputs) {
  const Problem problem(20, 64, 64, 6);
  run_everywhere([&](const KernelTable& table) {
    std::vector<float> with = problem.state, without = problem.state, y(problem.tokens * problem.value_dim);
    problem.run(table, 0, problem.tokens, with.data(), y.data());
    problem.run(table, 0, problem.tokens, without.data(), nullptr);
    EXPECT_TRUE(same_bits(with, without));
    return without;
  });
}

}  // namespace
}  // namespace oxbow::kernels
