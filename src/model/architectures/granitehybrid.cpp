// Granite 4.0-H and Bamba: Mamba-2 layers with a few attention layers among them; dense or mixture of
// experts.

#include <cmath>

#include "model/architectures.h"
#include "model/builder.h"

namespace oxbow::model {
namespace {

struct Settings {
  size_t feed_forward = 0;  // of one expert, when there are experts
  size_t shared_feed_forward = 0;
  ExpertsConfig experts;
  LayerHeads heads;  // no K/V heads: a Mamba-2 layer
  bool rope = false;
  double attention_scale = 0.0;
};

// A scale of 0 counts as absent.
Result<float> scale_or_one(Hyperparameters& hp, std::string_view name) {
  OXBOW_ASSIGN(const double value, hp.real_or(name, 1.0));
  return value == 0.0 ? 1.0f : static_cast<float>(value);
}

Result<Settings> read_settings(Hyperparameters& hp, size_t layers, Network& network) {
  Settings s;
  OXBOW_ASSIGN(s.feed_forward, hp.positive("feed_forward_length"));
  OXBOW_ASSIGN(s.heads, read_heads(hp, layers));
  OXBOW_ASSIGN(s.experts, read_experts(hp, network));
  OXBOW_ASSIGN(s.shared_feed_forward, hp.size_or("expert_shared_feed_forward_length", 0));
  OXBOW_ASSIGN(network.embedding_scale, scale_or_one(hp, "embedding_scale"));
  OXBOW_ASSIGN(network.residual_scale, scale_or_one(hp, "residual_scale"));
  OXBOW_ASSIGN(network.logit_scale, scale_or_one(hp, "logit_scale"));
  OXBOW_ASSIGN(s.attention_scale, hp.real_or("attention.scale", 0.0));
  OXBOW_ASSIGN(s.rope, hp.flag_or("rope.scaling.finetuned", true));
  return s;
}

Result<std::unique_ptr<Mixer>> build_mixer(Hyperparameters& hp, WeightLoader& weights, const Settings& s,
                                           size_t layer, const Mamba2Config& mamba, Network& network) {
  if (s.heads.kv_heads[layer] == 0) return build_mamba2(weights, layer, mamba);
  AttentionConfig attention;
  attention.embedding = network.embedding;
  attention.heads = s.heads.heads[layer];
  attention.kv_heads = s.heads.kv_heads[layer];
  attention.head_dim_k = attention.head_dim_v = attention.heads > 0 ? network.embedding / attention.heads : 0;
  OXBOW_TRY(check_heads(hp, attention));
  attention.scale = s.attention_scale != 0.0 ? static_cast<float>(s.attention_scale)
                                             : 1.0f / std::sqrt(static_cast<float>(attention.head_dim_k));
  if (s.rope) {
    OXBOW_ASSIGN(const RopeConfig rope, read_rope(hp, attention.head_dim_k, kernels::RopeStyle::kNorm));
    attention.rope = network.add_rope(rope);
  }
  return build_attention(weights, layer, attention, network);
}

Status build_feed_forward(WeightLoader& weights, const Settings& s, size_t index, size_t embedding,
                          Layer& layer) {
  if (s.experts.experts == 0) {
    OXBOW_ASSIGN(layer.feed_forwards.emplace_back(), build_dense(weights, index, embedding, s.feed_forward));
    return {};
  }
  OXBOW_ASSIGN(layer.feed_forwards.emplace_back(), build_experts(weights, index, s.experts, s.feed_forward));
  if (s.shared_feed_forward > 0) {
    OXBOW_ASSIGN(layer.feed_forwards.emplace_back(),
                 build_dense(weights, index, embedding, s.shared_feed_forward, Activation::kSilu, "_shexp"));
  }
  return {};
}

}  // namespace

Result<Network> build_granitehybrid(Hyperparameters& hp, WeightLoader& weights) {
  Network network;
  OXBOW_ASSIGN(const size_t layers, build_ends(hp, weights, network));
  OXBOW_ASSIGN(const Settings settings, read_settings(hp, layers, network));
  OXBOW_ASSIGN(const Mamba2Config mamba, read_mamba2(hp, network));
  for (size_t i = 0; i < layers; ++i) {
    Layer& layer = network.layers.emplace_back();
    OXBOW_ASSIGN(layer.mixer_norm, weights.vector(layer_tensor(i, "attn_norm.weight"), {network.embedding}));
    OXBOW_ASSIGN(layer.mixers.emplace_back(), build_mixer(hp, weights, settings, i, mamba, network));
    OXBOW_ASSIGN(layer.feed_forward_norm,
                 weights.vector(layer_tensor(i, "ffn_norm.weight"), {network.embedding}));
    OXBOW_TRY(build_feed_forward(weights, settings, i, network.embedding, layer));
  }
  if (network.ropes.empty()) ignore_rope(hp);
  return network;
}

std::vector<TinyModel> tiny_models_granitehybrid() {
  return {{.name = "dense",
           .settings = {{"block_count", 3},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"attention.head_count", 4},
                        {"attention.head_count_kv", {0, 2, 0}},
                        {"ssm.inner_size", 64},
                        {"ssm.time_step_rank", 4},
                        {"ssm.state_size", 16},
                        {"ssm.conv_kernel", 4},
                        {"ssm.group_count", 2},
                        {"feed_forward_length", 48}},
           .optional = {"ssm_norm.weight"}},
          {.name = "experts",
           .settings = {{"block_count", 2},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"attention.head_count", 4},
                        {"attention.head_count_kv", {0, 1}},
                        {"ssm.inner_size", 64},
                        {"ssm.time_step_rank", 4},
                        {"ssm.state_size", 16},
                        {"ssm.conv_kernel", 4},
                        {"ssm.group_count", 1},
                        {"feed_forward_length", 32},
                        {"expert_count", 5},
                        {"expert_used_count", 2},
                        {"expert_shared_feed_forward_length", 24},
                        {"embedding_scale", 12.0},
                        {"residual_scale", 0.4},
                        {"logit_scale", 3.0},
                        {"attention.scale", 0.25},
                        {"rope.scaling.finetuned", false}},
           .optional = {"ssm_norm.weight", "ssm_conv1d.bias", "output.weight"}},
          {.name = "recurrent",
           .settings = {{"block_count", 2},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"attention.head_count", 4},
                        {"attention.head_count_kv", {0, 0}},
                        {"ssm.inner_size", 48},
                        {"ssm.time_step_rank", 6},
                        {"ssm.state_size", 8},
                        {"ssm.conv_kernel", 4},
                        {"ssm.group_count", 1},
                        {"feed_forward_length", 32}},
           .optional = {"ssm_conv1d.bias"}},
          {.name = "types",
           .settings = {{"block_count", 2},
                        {"context_length", 256},
                        {"embedding_length", 256},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"attention.head_count", 4},
                        {"attention.head_count_kv", {0, 2}},
                        {"ssm.inner_size", 256},
                        {"ssm.time_step_rank", 8},
                        {"ssm.state_size", 16},
                        {"ssm.conv_kernel", 4},
                        {"ssm.group_count", 1},
                        {"feed_forward_length", 256}},
           .types = {{"token_embd.weight", gguf::TensorType::kQ6_K},
                     {"ssm_in.weight", gguf::TensorType::kQ4_K},
                     {"ssm_out.weight", gguf::TensorType::kQ6_K},
                     {"ffn_gate.weight", gguf::TensorType::kIQ4_XS},
                     {"ffn_up.weight", gguf::TensorType::kQ4_0},
                     {"ffn_down.weight", gguf::TensorType::kIQ4_NL},
                     {"attn_q.weight", gguf::TensorType::kMXFP4},
                     {"attn_k.weight", gguf::TensorType::kF16},
                     {"attn_v.weight", gguf::TensorType::kBF16}}}};
}

}  // namespace oxbow::model
