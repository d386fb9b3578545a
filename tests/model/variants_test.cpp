// Files that hold the same model in another way give the same bits: fused tensors, draft blocks at the end.

#include <gtest/gtest.h>

#include "rewritten.h"

namespace oxbow::model {
namespace {

using oxbow::testing::Row;
using oxbow::testing::Runner;
using oxbow::testing::same_bits;

std::vector<Row> logits_of(Rewritten& file) {
  auto model = file.load();
  EXPECT_TRUE(model) << model.error().message;
  if (!model) return {};
  const std::vector<memory::TokenId> tokens = {1, 20, 3, 4, 50, 6, 7, 8};
  return Runner(std::move(*model), 1).run(tokens);
}

void expect_same_bits(const std::string& golden, Rewritten& variant) {
  Rewritten original(golden);
  const std::vector<Row> expected = logits_of(original);
  const std::vector<Row> actual = logits_of(variant);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_TRUE(same_bits(actual[i], expected[i])) << "row " << i;
}

std::span<const std::byte> rows_of(const gguf::Tensor& tensor, size_t first, size_t count) {
  const size_t row = *gguf::tensor_bytes(tensor.type, tensor.shape[0]);
  return tensor.data.subspan(first * row, count * row);
}

class Concatenation {
 public:
  void add(std::span<const std::byte> part) { bytes_.insert(bytes_.end(), part.begin(), part.end()); }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

const gguf::Tensor& find(const Rewritten& file, const std::string& name) {
  return *file.source().find_tensor(name);
}

void fuse_experts(Rewritten& file, size_t layer) {
  const std::string prefix = fmt::format("blk.{}.", layer);
  const gguf::Tensor& gate = find(file, prefix + "ffn_gate_exps.weight");
  const gguf::Tensor& up = find(file, prefix + "ffn_up_exps.weight");
  Concatenation fused;
  for (size_t expert = 0; expert < gate.shape[2]; ++expert) {
    fused.add(rows_of(gate, expert * gate.shape[1], gate.shape[1]));
    fused.add(rows_of(up, expert * up.shape[1], up.shape[1]));
  }
  const std::vector<uint64_t> shape = {gate.shape[0], 2 * gate.shape[1], gate.shape[2]};
  file.without(gate.name).without(up.name).with([=, type = gate.type](gguf::Writer& writer) {
    writer.add_tensor(prefix + "ffn_gate_up_exps.weight", type, shape, fused.bytes());
  });
}

TEST(Variants, GateAndUpOfExpertsInOneTensor) {
  for (const char* golden : {"qwen35moe", "qwen3next"}) {
    Rewritten file(golden);
    fuse_experts(file, 0);
    fuse_experts(file, 1);
    expect_same_bits(golden, file);
  }
  Rewritten quantized("kimi-linear-Q8_0");
  fuse_experts(quantized, 1);
  expect_same_bits("kimi-linear-Q8_0", quantized);
}

// Older Qwen3-Next files: per key head q, k, and v and z of its value heads.
TEST(Variants, InputsOfADeltaNetInOneTensor) {
  constexpr size_t kKeyHeads = 2, kValueHeads = 4, kSize = 16;
  constexpr size_t kShare = kValueHeads / kKeyHeads * kSize;
  Rewritten file("qwen3next");
  const gguf::Tensor& qkv = find(file, "blk.0.attn_qkv.weight");
  const gguf::Tensor& gate = find(file, "blk.0.attn_gate.weight");
  ASSERT_EQ(qkv.shape[1], 2 * kKeyHeads * kSize + kValueHeads * kSize);
  Concatenation fused;
  for (size_t head = 0; head < kKeyHeads; ++head) {
    fused.add(rows_of(qkv, head * kSize, kSize));
    fused.add(rows_of(qkv, (kKeyHeads + head) * kSize, kSize));
    fused.add(rows_of(qkv, 2 * kKeyHeads * kSize + head * kShare, kShare));
    fused.add(rows_of(gate, head * kShare, kShare));
  }
  const std::vector<uint64_t> shape = {qkv.shape[0], qkv.shape[1] + gate.shape[1]};
  file.without(qkv.name).without(gate.name).with([=, type = qkv.type](gguf::Writer& writer) {
    writer.add_tensor("blk.0.ssm_in.weight", type, shape, fused.bytes());
  });
  expect_same_bits("qwen3next", file);
}

// A draft block behind the others: a copy of the last block's tensors and some of its own.
void add_draft(Rewritten& file, const std::string& architecture, size_t blocks) {
  const std::string count = architecture + ".block_count";
  const std::string last = fmt::format("blk.{}.", blocks - 1);
  const std::string draft = fmt::format("blk.{}.", blocks);
  file.replace(count, [=](gguf::Writer& writer) {
    writer.add_uint32(count, static_cast<uint32_t>(blocks + 1));
    writer.add_uint32(architecture + ".nextn_predict_layers", 1);
    const float ones[32] = {};
    const uint64_t shape[] = {32};
    writer.add_tensor(draft + "nextn.enorm.weight", gguf::TensorType::kF32, shape,
                      std::as_bytes(std::span(ones)));
  });
  for (const gguf::Tensor& tensor : file.source().tensors()) {
    if (!tensor.name.starts_with(last)) continue;
    file.with([&tensor, name = draft + tensor.name.substr(last.size())](gguf::Writer& writer) {
      writer.add_tensor(name, tensor.type, tensor.shape, tensor.data);
    });
  }
}

TEST(Variants, DraftBlocksAreLeftOut) {
  Rewritten qwen("qwen35moe");
  add_draft(qwen, "qwen35moe", 2);
  auto model = qwen.load();
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->layer_count(), 2U);
  EXPECT_EQ((*model)->layer_letters(0), "DE");
  EXPECT_EQ((*model)->layer_letters(1), "AE");
  expect_same_bits("qwen35moe", qwen);
}

TEST(Variants, ArraysThatCoverDraftBlocksAreCut) {
  Rewritten lfm("lfm2moe");
  add_draft(lfm, "lfm2moe", 3);
  lfm.replace("lfm2moe.attention.head_count_kv", [](gguf::Writer& writer) {
    const int32_t heads[] = {0, 2, 0, 2};
    writer.add_array("lfm2moe.attention.head_count_kv", std::span<const int32_t>(heads));
  });
  expect_same_bits("lfm2moe", lfm);
}

TEST(Variants, OnlyDraftBlocksAreNoModel) {
  Rewritten file("qwen35moe");
  file.with([](gguf::Writer& writer) { writer.add_uint32("qwen35moe.nextn_predict_layers", 2); });
  EXPECT_NE(file.error().find("qwen35moe.nextn_predict_layers is 2, expected less than"), std::string::npos)
      << file.error();
}

TEST(Variants, TheLayerMapNamesEveryMixer) {
  const std::pair<const char*, const char*> maps[] = {
      {"plamo2", "MF AF MF"},   {"kimi-linear", "KF LE KE"},   {"rwkv7", "RF RF RF"},
      {"falcon-h1", "AMF AMF"}, {"nemotron_h_moe", "M E A E"}, {"gemma3", "WF WF WF WF WF AF"},
      {"lfm2moe", "CF AE CE"},  {"qwen3next", "DE AE"},        {"jamba", "MF AE MF"},
  };
  for (const auto& [golden, expected] : maps) {
    auto model = Rewritten(golden).load();
    ASSERT_TRUE(model) << golden;
    std::string letters;
    for (size_t i = 0; i < (*model)->layer_count(); ++i) {
      letters += (i > 0 ? " " : "") + (*model)->layer_letters(i);
    }
    EXPECT_EQ(letters, expected) << golden;
  }
}

TEST(Variants, KindsComeFromTheLayers) {
  const auto kinds = [](const char* golden) {
    const auto model = Rewritten(golden).load();
    return std::pair((*model)->is_recurrent(), (*model)->is_hybrid());
  };
  EXPECT_EQ(kinds("rwkv7"), std::pair(true, false));
  EXPECT_EQ(kinds("kimi-linear"), std::pair(false, true));
  EXPECT_EQ(kinds("plamo2"), std::pair(false, true));
}

}  // namespace
}  // namespace oxbow::model
