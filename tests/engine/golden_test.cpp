// Logits of every golden model of the supported families against their references.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "engine/harness.h"
#include "model/architectures.h"
#include "support/golden.h"

namespace oxbow::testing {
namespace {

struct Difference {
  double largest = 0.0;
  double root_mean_square = 0.0;
};

// rows against the reference's rows from first_row on.
Difference compare(const std::vector<Row>& rows, std::span<const float> reference, size_t first_row = 0) {
  Difference difference;
  double sum = 0.0;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < rows[i].size(); ++j) {
      const double d =
          std::abs(rows[i][j] - static_cast<double>(reference[(first_row + i) * rows[i].size() + j]));
      difference.largest = std::isnan(d) ? INFINITY : std::max(difference.largest, d);
      sum += d * d;
    }
  }
  difference.root_mean_square = std::sqrt(sum / static_cast<double>(rows.size() * rows[0].size()));
  return difference;
}

size_t argmax_agreement(const std::vector<Row>& rows, std::span<const float> reference) {
  size_t equal = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = reference.subspan(i * rows[i].size(), rows[i].size());
    equal +=
        std::ranges::max_element(rows[i]) - rows[i].begin() == std::ranges::max_element(row) - row.begin();
  }
  return equal;
}

std::vector<float> read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  uint16_t header = 0;
  std::memcpy(&header, bytes.data() + 8, sizeof(header));
  std::vector<float> values((bytes.size() - 10 - header) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + 10 + header, values.size() * sizeof(float));
  return values;
}

bool is_quantized(const std::string& name) {
  return name.find("Q4_K_M") != std::string::npos || name.find("Q8_0") != std::string::npos ||
         name.find("MIX") != std::string::npos;
}

const model::LoadOptions kExact{.decode_weights = true, .progress = {}};

// ---- goldens of the repository
// --------------------------------------------------------------------------------

class RepositoryGolden : public ::testing::TestWithParam<std::string> {
 protected:
  std::string path() const { return source_path("tests/golden/" + GetParam()); }
  std::vector<TokenId> tokens() const { return Golden(path()).tokens(); }
};

TEST_P(RepositoryGolden, FloatProductsMatchTheExactLogits) {
  Runner runner(load_model(path() + ".gguf", kExact), 1);
  const auto difference = compare(runner.run(tokens()), read_npy(path() + ".npy"));
  EXPECT_LT(difference.largest, 1e-4);
  EXPECT_LT(difference.root_mean_square, 1e-5);
}

TEST_P(RepositoryGolden, IntegerProductsStayNearTheExactLogits) {
  Runner runner(load_model(path() + ".gguf"), 1);
  const std::vector<float> reference = read_npy(path() + ".npy");
  const std::vector<Row> rows = runner.run(tokens());
  const auto difference = compare(rows, reference);
  const bool quantized = is_quantized(GetParam());
  EXPECT_LT(difference.largest, quantized ? 1.3 : 1e-4);
  EXPECT_LT(difference.root_mean_square, quantized ? 0.23 : 1e-5);
  EXPECT_GE(argmax_agreement(rows, reference), rows.size() - (quantized ? 4 : 0));
}

INSTANTIATE_TEST_SUITE_P(Models, RepositoryGolden, ::testing::ValuesIn(repository_goldens()),
                         [](const auto& model) { return test_name(model.param); });

// ---- goldens of the shared folder
// ------------------------------------------------------------------------------

// Without the folder one name remains, so that the tests are seen to be skipped.
std::vector<std::string> shared_goldens_or_absent() {
  std::vector<std::string> names = shared_goldens();
  if (names.empty()) names.push_back("absent");
  return names;
}

class SharedGolden : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { OXBOW_NEEDS_SHARED(); }
};

TEST_P(SharedGolden, AllPositionsMatchTheReference) {
  const Golden golden(GetParam());
  Runner runner(load_model(golden.model_path()), 1);
  const std::vector<Row> rows = runner.run(golden.tokens());
  const std::vector<float> reference = golden.floats("logits");
  const auto difference = compare(rows, reference);
  std::printf("%-32s largest difference %.2e, argmax equal %zu/%zu\n", GetParam().c_str(), difference.largest,
              argmax_agreement(rows, reference), rows.size());
  EXPECT_LT(difference.largest, golden.number("suggested_atol"));
  EXPECT_LT(difference.root_mean_square, golden.number("suggested_rms"));
}

TEST_P(SharedGolden, GreedyContinuationMatchesUpToNearTies) {
  const Golden golden(GetParam());
  Runner runner(load_model(golden.model_path()), 1);
  const std::vector<TokenId> prompt = golden.tokens();
  const std::vector<TokenId> greedy = golden.integers("greedy");
  const std::vector<float> reference = golden.floats("greedy_logits");
  const std::vector<double> margin = golden.numbers("greedy_margin");
  const double tolerance = golden.number("suggested_atol");
  const SequenceId sequence = runner.memory().create();
  Row row = runner.append(sequence, std::span(prompt).first(40)).back();
  for (size_t i = 0; i < greedy.size(); ++i) {
    EXPECT_LT(compare({row}, reference, i).largest, tolerance) << "step " << i;
    if (margin[i] < 2 * tolerance) break;  // a tie within the tolerance: the continuations may part here
    ASSERT_EQ(std::ranges::max_element(row) - row.begin(), greedy[i]) << "step " << i;
    row = runner.append(sequence, std::span(greedy).subspan(i, 1)).back();
  }
}

TEST_P(SharedGolden, TwoSequencesTogetherMatchTheReference) {
  const Golden golden(GetParam());
  Runner runner(load_model(golden.model_path()), 2);
  const std::vector<TokenId> a = golden.integers("two_seq_tokens_0");
  const std::vector<TokenId> b = golden.integers("two_seq_tokens_1");
  const SequenceId first = runner.memory().create();
  const SequenceId second = runner.memory().create();
  std::vector<Row> rows[2];
  const auto step = [&](size_t begin_a, size_t count_a, size_t begin_b, size_t count_b) {
    const BatchEntry batch[] = {{first, std::span(a).subspan(begin_a, count_a), 0},
                                {second, std::span(b).subspan(begin_b, count_b), 0}};
    const std::vector<Row> out = runner.step(batch);
    rows[0].insert(rows[0].end(), out.begin(), out.begin() + static_cast<ptrdiff_t>(count_a));
    rows[1].insert(rows[1].end(), out.begin() + static_cast<ptrdiff_t>(count_a), out.end());
  };
  step(0, 45, 0, 31);
  for (size_t i = 0; i < 3; ++i) step(45 + i, 1, 31 + i, 1);
  const double tolerance = golden.number("suggested_atol");
  EXPECT_LT(compare(rows[0], golden.floats("two_seq_logits_0")).largest, tolerance);
  EXPECT_LT(compare(rows[1], golden.floats("two_seq_logits_1")).largest, tolerance);
}

TEST_P(SharedGolden, FloatProductsMatchTheExactLogits) {
  const Golden golden(GetParam());
  const bool exact = golden.has_array("logits_exact");
  Runner runner(load_model(golden.model_path(), kExact), 1);
  const auto difference =
      compare(runner.run(golden.tokens()), golden.floats(exact ? "logits_exact" : "logits"));
  // Where the reference's own f32 logits stand for exact ones, they are as good as its tolerance says.
  EXPECT_LT(difference.largest, exact ? 1e-4 : golden.number("suggested_atol"));
}

TEST_P(SharedGolden, HalfPrecisionKeysAndValuesStayNear) {
  const Golden golden(GetParam());
  Runner runner(load_model(golden.model_path()), 1, memory::KvTypes{});
  const auto difference = compare(runner.run(golden.tokens()), golden.floats("logits"));
  EXPECT_LT(difference.largest, 0.02 + golden.number("suggested_atol"));
}

INSTANTIATE_TEST_SUITE_P(Models, SharedGolden, ::testing::ValuesIn(shared_goldens_or_absent()),
                         [](const auto& model) { return test_name(model.param); });

}  // namespace
}  // namespace oxbow::testing
