// Falcon-H1: attention and Mamba-2 side by side in every layer, both on the same norm. All multipliers are in
// the weights.

#include "model/architectures.h"
#include "model/builder.h"

namespace oxbow::model {

Result<Network> build_falcon_h1(Hyperparameters& hp, WeightLoader& weights) {
  Network network;
  OXBOW_ASSIGN(const size_t layers, build_ends(hp, weights, network));
  OXBOW_ASSIGN(const size_t width, hp.positive("feed_forward_length"));
  OXBOW_ASSIGN(const LayerHeads heads, read_heads(hp, layers));
  OXBOW_ASSIGN(const Mamba2Config mamba, read_mamba2(hp, network));
  for (size_t i = 0; i < layers; ++i) {
    OXBOW_ASSIGN(AttentionConfig attention, read_attention(hp, network, heads.heads[i], heads.kv_heads[i]));
    OXBOW_ASSIGN(const RopeConfig rope, read_rope(hp, attention.head_dim_k, kernels::RopeStyle::kNeox));
    attention.rope = network.add_rope(rope);
    Layer& layer = network.layers.emplace_back();
    OXBOW_ASSIGN(layer.mixer_norm, weights.vector(layer_tensor(i, "attn_norm.weight"), {network.embedding}));
    OXBOW_ASSIGN(layer.mixers.emplace_back(), build_attention(weights, i, attention, network));
    OXBOW_ASSIGN(layer.mixers.emplace_back(), build_mamba2(weights, i, mamba));
    // The name has no ".weight" in these files.
    OXBOW_ASSIGN(layer.feed_forward_norm, weights.vector(layer_tensor(i, "ffn_norm"), {network.embedding}));
    OXBOW_ASSIGN(layer.feed_forwards.emplace_back(), build_dense(weights, i, network.embedding, width));
  }
  return network;
}

std::vector<TinyModel> tiny_models_falcon_h1() {
  return {{.name = "plain",
           .settings = {{"block_count", 2},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"attention.head_count", 2},
                        {"attention.head_count_kv", 1},
                        {"attention.key_length", 24},
                        {"attention.value_length", 24},
                        {"ssm.inner_size", 48},
                        {"ssm.time_step_rank", 6},
                        {"ssm.state_size", 16},
                        {"ssm.conv_kernel", 4},
                        {"ssm.group_count", 2},
                        {"feed_forward_length", 48}},
           .optional = {"ssm_conv1d.bias", "output.weight"}},
          {.name = "norm",
           .settings = {{"block_count", 2},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"attention.head_count", 4},
                        {"attention.head_count_kv", 2},
                        {"attention.key_length", 16},
                        {"attention.value_length", 16},
                        {"ssm.inner_size", 64},
                        {"ssm.time_step_rank", 4},
                        {"ssm.state_size", 16},
                        {"ssm.conv_kernel", 4},
                        {"ssm.group_count", 1},
                        {"feed_forward_length", 32}},
           .optional = {"ssm_conv1d.bias", "ssm_norm.weight", "output.weight"}}};
}

}  // namespace oxbow::model
