// Settings of each family that this build does not compute, or that do not fit each other: the error names
// the key, what it holds and what was expected.

#include <gtest/gtest.h>

#include "rewritten.h"

namespace oxbow::model {
namespace {

struct Refusal {
  const char* golden;
  const char* key;  // without the architecture
  uint32_t value;
  const char* error;  // a part of it
};

class RefusedSetting : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedSetting, IsNamed) {
  const Refusal& refusal = GetParam();
  Rewritten file(refusal.golden);
  const std::string architecture(**file.source().find_string("general.architecture"));
  const std::string key = architecture + "." + refusal.key;
  file.replace(key, [&](gguf::Writer& writer) { writer.add_uint32(key, refusal.value); });
  const std::string error = file.error();
  EXPECT_NE(error.find(refusal.error), std::string::npos) << error;
  EXPECT_TRUE(error.starts_with("test.gguf: ")) << error;
}

INSTANTIATE_TEST_SUITE_P(
    OfEachFamily, RefusedSetting,
    ::testing::Values(
        Refusal{"llama", "attention.head_count", 3, "attention.head_count is 3, expected a multiple"},
        Refusal{"llama", "rope.dimension_count", 5, "rope.dimension_count is 5, expected an even number"},
        Refusal{"gemma3", "attention.head_count_kv", 3, "attention.head_count is 2, expected a multiple"},
        Refusal{"gemma3", "rope.dimension_count", 18, "rope.dimension_count is 18, expected"},
        Refusal{"granitehybrid-moe", "expert_group_count", 2, "expert_group_count is 2; this build chooses"},
        Refusal{"granitehybrid-dense", "ssm.group_count", 3, "ssm.group_count is 3, which does not divide"},
        Refusal{"falcon-h1", "ssm.time_step_rank", 5, "ssm.time_step_rank is 5, which does not divide"},
        Refusal{"falcon-h1", "feed_forward_length", 0, "feed_forward_length is 0, expected at least 1"},
        Refusal{"nemotron_h_moe", "expert_group_count", 4, "expert_group_count is 4; this build chooses"},
        Refusal{"nemotron_h_moe", "expert_feed_forward_length", 0, "expert_feed_forward_length is 0"},
        Refusal{"nemotron_h_moe-latent", "moe_latent_size", 0, "blk.1.ffn_up_exps.weight has shape"},
        Refusal{"nemotron_h_moe-latent", "moe_latent_size", 13, "blk.1.ffn_latent_down.weight has shape"},
        Refusal{"jamba", "expert_used_count", 5, "expert_used_count is 5, expected 1 to"},
        Refusal{"jamba", "ssm.conv_kernel", 17, "ssm.conv_kernel is 17; this build runs up to 16"},
        Refusal{"mamba", "ssm.time_step_rank", 0, "ssm.time_step_rank is 0, expected at least 1"},
        Refusal{"mamba2", "ssm.state_size", 0, "ssm.state_size is 0, expected at least 1"},
        Refusal{"lfm2moe", "shortconv.l_cache", 1, "shortconv.l_cache is 1, expected at least 2"},
        Refusal{"lfm2moe", "expert_gating_func", 3, "expert_gating_func is 3; this build computes"},
        Refusal{"qwen35moe", "ssm.inner_size", 65, "ssm.inner_size is 65, expected"},
        Refusal{"qwen35moe", "full_attention_interval", 0, "full_attention_interval is 0, expected"},
        Refusal{"qwen35moe", "attention.value_length", 16, "their gates would not fit"},
        Refusal{"qwen3next", "ssm.group_count", 3, "ssm.group_count is 3, which does not divide"},
        Refusal{"plamo2", "ssm.group_count", 2, "ssm.group_count is 2; this build computes one B and C"},
        Refusal{"plamo2", "ssm.time_step_rank", 5, "ssm.time_step_rank is 5, which does not divide"},
        Refusal{"plamo2", "attention.head_count", 3, "blk.1.attn_qkv.weight has shape"},
        Refusal{"kimi-linear", "attention.head_count_kv", 2, "attention.head_count_kv holds 2; this build"},
        Refusal{"kimi-linear", "attention.key_length", 33, "attention.key_length and kimi-linear."},
        Refusal{"kimi-linear", "attention.key_length_mla", 8, "attention.key_length_mla is 8, expected more"},
        Refusal{"kimi-linear", "kda.head_dim", 0, "kda.head_dim is 0, expected at least 1"},
        Refusal{"kimi-linear", "expert_shared_count", 3, "blk.1.ffn_gate_shexp.weight has shape"},
        Refusal{"rwkv7", "wkv.head_size", 7, "wkv.head_size is 7, which does not divide"},
        Refusal{"rwkv7", "token_shift_count", 1, "token_shift_count is 1; this build runs"},
        Refusal{"rwkv7", "attention.gate_lora_rank", 0, "attention.gate_lora_rank is 0, expected"},
        Refusal{"rwkv7", "attention.head_count", 4,
                "attention.head_count is 4; this build runs layers without"}),
    [](const auto& test) {
      std::string name = fmt::format("{}_{}_{}", test.param.golden, test.param.key, test.param.value);
      std::replace_if(
          name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

TEST(Refusal, OfANegativeEpsilonNamesIt) {
  Rewritten file("rwkv7");
  file.replace("rwkv7.attention.layer_norm_epsilon",
               [](gguf::Writer& writer) { writer.add_float32("rwkv7.attention.layer_norm_epsilon", -1.0f); });
  EXPECT_NE(file.error().find("rwkv7.attention.layer_norm_epsilon is -1, expected 0 or more"),
            std::string::npos)
      << file.error();
}

}  // namespace
}  // namespace oxbow::model
