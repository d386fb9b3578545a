// A whole model in each type that can be encoded: from the writer through packing and the integer products to
// logits.

#include <gtest/gtest.h>

#include <cmath>

#include "engine/harness.h"
#include "gguf/writer.h"
#include "quant/blocks.h"

namespace oxbow::testing {
namespace {

using gguf::TensorType;

// The matrices of a model whose rows are whole blocks of 256, re-encoded.
std::string write_model(TensorType type) {
  auto file = gguf::File::open(source_path("tests/golden/granitehybrid-Q8_0.gguf"));
  if (!file) throw std::runtime_error(file.error().message);
  gguf::Writer writer;
  for (const auto& [key, value] : file->metadata()) writer.add_value(key, value);
  for (const gguf::Tensor& tensor : file->tensors()) {
    if (tensor.type != TensorType::kQ8_0 || tensor.shape[0] % 256 != 0) {
      writer.add_tensor(tensor.name, tensor.type, tensor.shape, tensor.data);
      continue;
    }
    std::vector<float> values(tensor.elements);
    quant::decode(tensor.type, tensor.data, values);
    std::vector<std::byte> blocks(*gguf::tensor_bytes(type, values.size()));
    const Status encoded = quant::encode(type, values, blocks);
    if (!encoded) throw std::runtime_error(encoded.error().message);
    writer.add_tensor(tensor.name, type, tensor.shape, blocks);
  }
  std::string path =
      ::testing::TempDir() + "oxbow-" + std::string(gguf::tensor_type_info(type).name) + ".gguf";
  const Status written = writer.write(path);
  if (!written) throw std::runtime_error(written.error().message);
  return path;
}

double rms_difference(const std::vector<Row>& a, const std::vector<Row>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < a[i].size(); ++j) sum += std::pow(static_cast<double>(a[i][j]) - b[i][j], 2);
  }
  return std::sqrt(sum / static_cast<double>(a.size() * a[0].size()));
}

class EncodedModel : public ::testing::TestWithParam<TensorType> {
 protected:
  void SetUp() override { path_ = write_model(GetParam()); }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_;
};

TEST_P(EncodedModel, IntegerProductsStayNearTheProductsOfTheDecodedValues) {
  const std::vector<TokenId> tokens = some_tokens(40, 500, 3);
  const std::vector<Row> exact =
      Runner(load_model(path_, {.decode_weights = true, .progress = {}}), 1).run(tokens);
  const std::vector<Row> integer = Runner(load_model(path_), 1).run(tokens);
  // The logits have a deviation of about 2.5: a wrong scale or code would move them by that much.
  EXPECT_LT(rms_difference(exact, integer), 0.15);
  EXPECT_GT(rms_difference(exact, integer), 1e-4) << "the matrices were not encoded";
}

TEST_P(EncodedModel, GivesTheSameBitsForEveryCutOfTheTokens) {
  const std::vector<TokenId> tokens = some_tokens(37, 500, 4);
  const auto model = load_model(path_);
  const std::vector<Row> whole = Runner(model, 2).run(tokens);
  for (size_t chunk : {1, 2, 5, 9, 16}) {
    const std::vector<Row> pieces = Runner(model, 1).run(tokens, chunk);
    ASSERT_EQ(pieces.size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i)
      ASSERT_TRUE(same_bits(whole[i], pieces[i])) << chunk << " " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, EncodedModel,
                         ::testing::Values(TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kQ4_K,
                                           TensorType::kQ6_K, TensorType::kIQ4_NL, TensorType::kIQ4_XS,
                                           TensorType::kMXFP4),
                         [](const auto& tested) {
                           return std::string(gguf::tensor_type_info(tested.param).name);
                         });

}  // namespace
}  // namespace oxbow::testing
