// Jamba: Mamba-1 layers with a few attention layers without rope among them; some feed-forwards are experts.

#include "model/architectures.h"
#include "model/builder.h"

namespace oxbow::model {

Result<Network> build_jamba(Hyperparameters& hp, WeightLoader& weights) {
  Network network;
  OXBOW_ASSIGN(const size_t layers, build_ends(hp, weights, network));
  OXBOW_ASSIGN(const size_t width, hp.positive("feed_forward_length"));
  OXBOW_ASSIGN(const LayerHeads heads, read_heads(hp, layers));
  OXBOW_ASSIGN(const Mamba1Config mamba, read_mamba1(hp, network));
  OXBOW_ASSIGN(ExpertsConfig experts, read_experts(hp, network));
  experts.renormalize = false;
  for (size_t i = 0; i < layers; ++i) {
    Layer& layer = network.layers.emplace_back();
    OXBOW_ASSIGN(layer.mixer_norm, weights.vector(layer_tensor(i, "attn_norm.weight"), {network.embedding}));
    if (heads.kv_heads[i] == 0) {
      OXBOW_ASSIGN(layer.mixers.emplace_back(), build_mamba1(weights, i, mamba));
    } else {
      OXBOW_ASSIGN(const AttentionConfig attention,
                   read_attention(hp, network, heads.heads[i], heads.kv_heads[i]));
      OXBOW_ASSIGN(layer.mixers.emplace_back(), build_attention(weights, i, attention, network));
    }
    OXBOW_ASSIGN(layer.feed_forward_norm,
                 weights.vector(layer_tensor(i, "ffn_norm.weight"), {network.embedding}));
    if (!weights.has(layer_tensor(i, "ffn_gate_inp.weight"))) {
      OXBOW_ASSIGN(layer.feed_forwards.emplace_back(), build_dense(weights, i, network.embedding, width));
      continue;
    }
    if (experts.experts == 0) {
      return fail(ErrorKind::kInvalidInput, "layer {} has experts, but {} is 0", i, hp.key("expert_count"));
    }
    OXBOW_ASSIGN(layer.feed_forwards.emplace_back(), build_experts(weights, i, experts, width));
  }
  return network;
}

std::vector<TinyModel> tiny_models_jamba() {
  return {{.name = "experts",
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
                        {"feed_forward_length", 40},
                        {"expert_count", 4},
                        {"expert_used_count", 2}},
           .optional = {"ssm_conv1d.bias", "ssm_dt_norm.weight", "blk.1.ffn_gate_inp.weight"}}};
}

}  // namespace oxbow::model
