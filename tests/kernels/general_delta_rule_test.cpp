#include "kernel_fixture.h"

namespace oxbow::kernels {
namespace {

constexpr float kScale = 0.25f;

// Keys have about unit length, as the norms before the kernel leave them; b is a, more or less.
struct Problem {
  Problem(size_t tokens_in, size_t key_dim_in, size_t value_dim_in, uint32_t seed)
      : tokens(tokens_in), key_dim(key_dim_in), value_dim(value_dim_in) {
    const float unit = 1.7f / std::sqrt(static_cast<float>(key_dim));
    w = random_floats(tokens * key_stride(), seed, 0.3f, 1.0f);
    a = random_floats(tokens * key_stride(), seed + 1, -unit, unit);
    b = random_floats(tokens * key_stride(), seed + 2, 0.1f, 0.9f);
    for (size_t i = 0; i < b.size(); ++i) b[i] *= a[i];
    k = random_floats(tokens * key_stride(), seed + 3, -unit, unit);
    q = random_floats(tokens * q_stride(), seed + 4, -unit, unit);
    v = random_floats(tokens * v_stride(), seed + 5);
    state = std::vector<float>(lane_block_floats(value_dim, key_dim), 0.0f);
    const std::vector<float> values = random_floats(value_dim * key_dim, seed + 6);
    for (size_t p = 0; p < value_dim; ++p) {
      for (size_t n = 0; n < key_dim; ++n) state[index(n, p)] = values[p * key_dim + n];
    }
  }

  size_t key_stride() const { return key_dim + 3; }
  size_t q_stride() const { return key_dim + 1; }
  size_t v_stride() const { return value_dim + 5; }
  size_t index(size_t key, size_t value) const { return (value / 16 * key_dim + key) * 16 + value % 16; }

  void run(const KernelTable& table, size_t first, size_t count, float* state_inout, float* y) const {
    GeneralDeltaRuleArgs args;
    args.tokens = count;
    args.key_dim = key_dim;
    args.value_dim = value_dim;
    args.scale = kScale;
    args.w = w.data() + first * key_stride();
    args.a = a.data() + first * key_stride();
    args.b = b.data() + first * key_stride();
    args.k = k.data() + first * key_stride();
    args.key_stride = key_stride();
    args.q = y == nullptr ? nullptr : q.data() + first * q_stride();
    args.q_stride = q_stride();
    args.v = v.data() + first * v_stride();
    args.v_stride = v_stride();
    args.state = state_inout;
    args.y = y == nullptr ? nullptr : y + first * value_dim;
    args.y_stride = value_dim;
    table.general_delta_rule(args);
  }

  size_t tokens, key_dim, value_dim;
  std::vector<float> w, a, b, k, q, v, state;
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
    const size_t key = t * problem.key_stride();
    const float* q = problem.q.data() + t * problem.q_stride();
    for (size_t p = 0; p < problem.value_dim; ++p) {
      const double v = problem.v[t * problem.v_stride() + p];
      double held = 0.0;
      double y = 0.0;
      for (size_t n = 0; n < problem.key_dim; ++n) held += state[problem.index(n, p)] * problem.a[key + n];
      for (size_t n = 0; n < problem.key_dim; ++n) {
        double& s = state[problem.index(n, p)];
        s = problem.w[key + n] * s - problem.b[key + n] * held + problem.k[key + n] * v;
        y += s * q[n];
      }
      all.push_back(kScale * y);
    }
  }
  all.insert(all.end(), state.begin(), state.end());
  return all;
}

TEST(GeneralDeltaRule, MatchesTheReferenceForWholeAndPartialBlocks) {
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

// With one decay for all keys, a = w k and b = beta k the rule is the gated delta rule.
TEST(GeneralDeltaRule, ContainsTheGatedDeltaRule) {
  Problem problem(12, 24, 20, 2);
  const float step = 0.4f;
  const float decay_input = -0.6f;
  std::vector<float> dt(problem.tokens, step), beta(problem.tokens, 0.7f), keys = problem.k;
  for (size_t i = 0; i < keys.size(); ++i) {
    problem.w[i] = std::exp(step * decay_input);
    problem.a[i] = problem.w[i] * keys[i];
    problem.b[i] = problem.k[i] = 0.7f * keys[i];
  }
  DeltaRuleArgs args;
  std::vector<float> state = problem.state, y(problem.tokens * problem.value_dim), rows;
  const size_t stride = 24 + 24 + 20;
  for (size_t t = 0; t < problem.tokens; ++t) {
    const auto copy = [&](const std::vector<float>& values, size_t width, size_t count) {
      const auto begin = values.begin() + static_cast<ptrdiff_t>(t * width);
      rows.insert(rows.end(), begin, begin + static_cast<ptrdiff_t>(count));
    };
    copy(problem.q, problem.q_stride(), 24);
    copy(keys, problem.key_stride(), 24);
    copy(problem.v, problem.v_stride(), 20);
  }
  args.tokens = problem.tokens;
  args.key_dim = problem.key_dim;
  args.value_dim = problem.value_dim;
  args.a = decay_input;
  args.scale = kScale;
  args.dt = dt.data();
  args.beta = beta.data();
  args.gate_stride = 1;
  args.q = rows.data();
  args.k = rows.data() + 24;
  args.v = rows.data() + 48;
  args.qkv_stride = stride;
  args.state = state.data();
  args.y = y.data();
  args.y_stride = problem.value_dim;
  const KernelTable& table = *available_kernels().back();
  table.delta_rule(args);
  const std::vector<float> general = whole_run(problem, table);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(general[i], y[i], 1e-5);
}

TEST(GeneralDeltaRule, LeavesUnusedLanesOfTheStateZero) {
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

TEST(GeneralDeltaRule, GivesTheSameBitsForAnySplitOfTheTokens) {
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

TEST(GeneralDeltaRule, AdvancesTheStateAlikeWithoutOutputs) {
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
