// Nemotron-H: every layer is one thing behind one norm, Mamba-2, attention without rope, or a feed-forward
// with squared ReLU (dense, or experts with a sigmoid router and a shared expert).

#include "model/architectures/nemotron_h.h"

#include "model/architectures.h"
#include "model/builder.h"

namespace oxbow::model {
namespace {

struct Settings {
  LayerHeads heads;
  std::vector<size_t> feed_forward;  // 0: not a feed-forward layer
  Mamba2Config mamba;
  ExpertsConfig experts;
  size_t expert_width = 0;
  size_t shared_width = 0;
};

Result<Settings> read_settings(Hyperparameters& hp, size_t layers, const Network& network) {
  Settings s;
  OXBOW_ASSIGN(s.heads, read_heads(hp, layers));
  OXBOW_ASSIGN(s.feed_forward, hp.per_layer("feed_forward_length", layers));
  OXBOW_ASSIGN(s.mamba, read_mamba2(hp, network));
  OXBOW_ASSIGN(s.experts, read_experts(hp, network, 2));
  s.experts.activation = Activation::kReluSquared;
  OXBOW_ASSIGN(s.expert_width, hp.size_or("expert_feed_forward_length", 0));
  OXBOW_ASSIGN(s.shared_width, hp.size_or("expert_shared_feed_forward_length", 0));
  hp.ignore("expert_shared_count");  // the shared width covers all of them
  OXBOW_ASSIGN(s.experts.latent, hp.size_or("moe_latent_size", 0));
  ignore_rope(hp);
  return s;
}

Status build_feed_forward(Hyperparameters& hp, WeightLoader& weights, const Settings& s, size_t index,
                          size_t embedding, Layer& layer) {
  constexpr Activation kActivation = Activation::kReluSquared;
  if (!weights.has(layer_tensor(index, "ffn_gate_inp.weight"))) {
    OXBOW_ASSIGN(layer.feed_forwards.emplace_back(),
                 build_dense(weights, index, embedding, s.feed_forward[index], kActivation));
    return {};
  }
  if (s.experts.experts == 0 || s.expert_width == 0) {
    return fail(ErrorKind::kInvalidInput, "layer {} has experts, but {} or {} is 0", index,
                hp.key("expert_count"), hp.key("expert_feed_forward_length"));
  }
  OXBOW_ASSIGN(layer.feed_forwards.emplace_back(), build_experts(weights, index, s.experts, s.expert_width));
  if (s.shared_width > 0) {
    OXBOW_ASSIGN(layer.feed_forwards.emplace_back(),
                 build_dense(weights, index, embedding, s.shared_width, kActivation, "_shexp"));
  }
  return {};
}

}  // namespace

Result<Network> build_nemotron_h(Hyperparameters& hp, WeightLoader& weights) {
  constexpr std::string_view kEpsilon = "attention.layer_norm_epsilon";
  constexpr std::string_view kRmsEpsilon = "attention.layer_norm_rms_epsilon";
  Network network;
  OXBOW_TRY(hp.real(kEpsilon));
  OXBOW_ASSIGN(const size_t layers,
               build_ends(hp, weights, network, {.epsilon = hp.has(kRmsEpsilon) ? kRmsEpsilon : kEpsilon}));
  OXBOW_ASSIGN(const Settings s, read_settings(hp, layers, network));
  for (size_t i = 0; i < layers; ++i) {
    Layer& layer = network.layers.emplace_back();
    OXBOW_ASSIGN(std::vector<float> norm,
                 weights.vector(layer_tensor(i, "attn_norm.weight"), {network.embedding}));
    if (s.feed_forward[i] > 0) {
      layer.feed_forward_norm = std::move(norm);
      OXBOW_TRY(build_feed_forward(hp, weights, s, i, network.embedding, layer));
      continue;
    }
    layer.mixer_norm = std::move(norm);
    if (s.heads.kv_heads[i] == 0) {
      OXBOW_ASSIGN(layer.mixers.emplace_back(), build_mamba2(weights, i, s.mamba));
      continue;
    }
    OXBOW_ASSIGN(const AttentionConfig attention,
                 read_attention(hp, network, s.heads.heads[i], s.heads.kv_heads[i]));
    OXBOW_ASSIGN(layer.mixers.emplace_back(), build_attention(weights, i, attention, network));
  }
  hp.ignore("attention.key_length");  // unread when no layer is attention
  hp.ignore("attention.value_length");
  return network;
}

std::vector<TinyModel> tiny_models_nemotron_h() {
  return {{.name = "dense",
           .settings = {{"block_count", 3},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_epsilon", 1e-5},
                        {"attention.head_count", 4},
                        {"attention.head_count_kv", {0, 0, 2}},
                        {"attention.key_length", 16},
                        {"attention.value_length", 16},
                        {"ssm.inner_size", 48},
                        {"ssm.time_step_rank", 6},
                        {"ssm.state_size", 16},
                        {"ssm.conv_kernel", 4},
                        {"ssm.group_count", 2},
                        {"feed_forward_length", {0, 48, 0}}},
           .optional = {"ssm_conv1d.bias", "ssm_norm.weight", "output.weight"}}};
}

}  // namespace oxbow::model
