// What a model file can get wrong, and what the error says.

#include <gtest/gtest.h>

#include <limits>

#include "rewritten.h"

namespace oxbow::model {
namespace {

Rewritten dense() {
  return Rewritten("granitehybrid-dense");
}

// Replaces a u32 key.
Rewritten dense_with(const std::string& key, uint32_t value) {
  return dense().replace(key, [=](gguf::Writer& writer) { writer.add_uint32(key, value); });
}

TEST(Load, UnchangedCopyLoadsAndAnswersQuestions) {
  auto model = dense().load();
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_TRUE((*model)->is_hybrid());
  EXPECT_FALSE((*model)->is_recurrent());
  EXPECT_EQ((*model)->vocabulary(), 512U);
  std::string letters;
  for (size_t i = 0; i < (*model)->layer_count(); ++i) letters += (*model)->layer_letters(i);
  EXPECT_NE(letters.find("AF"), std::string::npos) << letters;
  EXPECT_NE(letters.find("MF"), std::string::npos) << letters;
}

TEST(Load, KindsComeFromTheLayersNotTheName) {
  const auto recurrent = Rewritten("granitehybrid-recurrent").load();
  ASSERT_TRUE(recurrent) << recurrent.error().message;
  EXPECT_TRUE((*recurrent)->is_recurrent());
  EXPECT_FALSE((*recurrent)->is_hybrid());
  const auto llama = Rewritten("llama").load();
  ASSERT_TRUE(llama);
  EXPECT_FALSE((*llama)->is_recurrent());
  EXPECT_FALSE((*llama)->is_hybrid());
}

TEST(Load, NamesAMissingTensorAndItsShape) {
  const std::string error = dense().without("blk.0.ssm_in.weight").error();
  EXPECT_NE(error.find("the tensor blk.0.ssm_in.weight is missing (expected shape ["), std::string::npos)
      << error;
}

TEST(Load, NamesAMisshapenTensor) {
  const std::string error = dense().reshaped("output_norm.weight", {32, 2}).error();
  EXPECT_NE(error.find("the tensor output_norm.weight has shape [32, 2], expected ["), std::string::npos)
      << error;
}

TEST(Load, RefusesATensorItDoesNotKnow) {
  const float bias[4] = {};
  const uint64_t shape[] = {4};
  auto file = dense().with([&](gguf::Writer& writer) {
    writer.add_tensor("blk.0.attn_q.bias", gguf::TensorType::kF32, shape, std::as_bytes(std::span(bias)));
  });
  EXPECT_NE(file.error().find("the tensor blk.0.attn_q.bias is not known"), std::string::npos)
      << file.error();
  LoadOptions options;
  options.allow_unknown = true;
  EXPECT_EQ(file.error(options), "");
}

TEST(Load, RefusesAKeyItDoesNotKnow) {
  auto file = dense().with(
      [](gguf::Writer& writer) { writer.add_float32("granitehybrid.attention.clamp_kqv", 3.0f); });
  EXPECT_NE(file.error().find("granitehybrid.attention.clamp_kqv is not known"), std::string::npos)
      << file.error();
  LoadOptions options;
  options.allow_unknown = true;
  EXPECT_EQ(file.error(options), "");
}

TEST(Load, RefusesAnArchitectureItDoesNotRun) {
  auto file = dense().without("general.architecture").with([](gguf::Writer& writer) {
    writer.add_string("general.architecture", "bloom");
  });
  const std::string error = file.error();
  EXPECT_NE(error.find("\"bloom\" is not supported"), std::string::npos) << error;
  EXPECT_NE(error.find("granitehybrid"), std::string::npos) << error;
}

TEST(Load, NamesAMissingKey) {
  for (const char* key :
       {"granitehybrid.block_count", "granitehybrid.embedding_length", "granitehybrid.attention.head_count",
        "granitehybrid.ssm.state_size", "granitehybrid.attention.layer_norm_rms_epsilon"}) {
    EXPECT_EQ(dense().without(key).error(), fmt::format("test.gguf: the metadata key {} is missing", key));
  }
}

TEST(Load, RefusesNumbersThatDoNotFitEachOther) {
  const auto expect = [](Rewritten file, const std::string& part) {
    const std::string error = file.error();
    EXPECT_NE(error.find(part), std::string::npos) << error << "\nexpected: " << part;
  };
  expect(dense_with("granitehybrid.block_count", 0), "granitehybrid.block_count is 0");
  expect(dense_with("granitehybrid.block_count", 4'000'000'000U), "granitehybrid.block_count is 4000000000");
  expect(dense_with("granitehybrid.block_count", 1'000'000),
         "granitehybrid.block_count is 1000000, expected 1 to");
  expect(dense_with("granitehybrid.block_count", 1'000), "one for each of the 1000 layers");
  expect(dense_with("granitehybrid.ssm.time_step_rank", 7), "does not divide granitehybrid.ssm.inner_size");
  expect(dense_with("granitehybrid.ssm.group_count", 3), "does not divide granitehybrid.ssm.time_step_rank");
  expect(dense_with("granitehybrid.ssm.group_count", 0), "granitehybrid.ssm.group_count is 0");
  expect(dense_with("granitehybrid.ssm.conv_kernel", 99), "granitehybrid.ssm.conv_kernel is 99");
  expect(dense_with("granitehybrid.attention.head_count", 3), "granitehybrid.attention.head_count is 3");
  expect(dense_with("granitehybrid.attention.head_count", 0), "granitehybrid.attention.head_count is 0");
  expect(dense_with("granitehybrid.embedding_length", 65), "token_embd.weight has shape");
}

TEST(Load, RefusesSettingsItDoesNotCompute) {
  auto rope = Rewritten("granitehybrid-bamba").with([](gguf::Writer& writer) {
    writer.add_string("granitehybrid.rope.scaling.type", "yarn");
  });
  EXPECT_NE(rope.error().find("granitehybrid.rope.scaling.type is \"yarn\""), std::string::npos)
      << rope.error();
  auto experts =
      Rewritten("granitehybrid-moe")
          .without("granitehybrid.expert_used_count")
          .with([](gguf::Writer& writer) { writer.add_uint32("granitehybrid.expert_used_count", 9); });
  EXPECT_NE(experts.error().find("granitehybrid.expert_used_count is 9, expected 1 to"), std::string::npos);
  auto text = dense().without("granitehybrid.embedding_length").with([](gguf::Writer& writer) {
    writer.add_string("granitehybrid.embedding_length", "big");
  });
  EXPECT_NE(text.error().find("granitehybrid.embedding_length"), std::string::npos) << text.error();
  auto epsilon =
      dense().without("granitehybrid.attention.layer_norm_rms_epsilon").with([](gguf::Writer& writer) {
        writer.add_float32("granitehybrid.attention.layer_norm_rms_epsilon",
                           std::numeric_limits<float>::quiet_NaN());
      });
  EXPECT_NE(epsilon.error().find("is not a finite number"), std::string::npos) << epsilon.error();
}

TEST(Load, ReportsProgressAndCanBeStopped) {
  size_t calls = 0;
  LoadOptions options;
  options.progress = [&](size_t done, size_t total) {
    EXPECT_LE(done, total);
    return ++calls < 3;
  };
  EXPECT_EQ(dense().error(options), "loading was stopped");
  EXPECT_EQ(calls, 3U);
}

}  // namespace
}  // namespace oxbow::model
