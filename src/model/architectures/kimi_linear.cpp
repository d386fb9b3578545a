// Kimi Linear: Kimi delta attention with a latent attention layer without rope after every few; experts with
// a sigmoid router and a shared expert after the leading dense layers.

#include <cmath>

#include "model/architectures.h"
#include "model/builder.h"
#include "model/mixers/kimi_delta.h"
#include "model/mixers/latent_attention.h"

namespace oxbow::model {
namespace {

struct Settings {
  std::vector<size_t> kv_heads;  // 0: a delta layer, 1: latent attention
  KimiDeltaConfig delta;
  LatentAttentionConfig latent;
  size_t width = 0;
  size_t leading_dense = 0;
  ExpertsConfig experts;
  size_t expert_width = 0;
  size_t shared_width = 0;
};

Result<KimiDeltaConfig> read_delta(Hyperparameters& hp, size_t heads, const Network& network) {
  KimiDeltaConfig config;
  config.embedding = network.embedding;
  config.norm_epsilon = network.norm_epsilon;
  config.heads = heads;
  OXBOW_ASSIGN(config.head_dim, hp.positive("kda.head_dim"));
  OXBOW_ASSIGN(config.conv_taps, read_taps(hp, "ssm.conv_kernel"));
  return config;
}

// key_length and value_length are those of what is kept, the mla keys those of a head.
Result<LatentAttentionConfig> read_latent(Hyperparameters& hp, size_t heads, const Network& network) {
  LatentAttentionConfig config;
  config.embedding = network.embedding;
  config.norm_epsilon = network.norm_epsilon;
  config.heads = heads;
  OXBOW_ASSIGN(config.latent, hp.positive("attention.kv_lora_rank"));
  OXBOW_ASSIGN(config.key_shared, hp.positive("rope.dimension_count"));
  OXBOW_ASSIGN(const size_t key, hp.positive("attention.key_length_mla"));
  OXBOW_ASSIGN(config.value_dim, hp.positive("attention.value_length_mla"));
  if (key <= config.key_shared) {
    return fail(ErrorKind::kInvalidInput, "{} is {}, expected more than {} = {}",
                hp.key("attention.key_length_mla"), key, hp.key("rope.dimension_count"), config.key_shared);
  }
  config.key_own = key - config.key_shared;
  config.scale = 1.0f / std::sqrt(static_cast<float>(key));
  OXBOW_ASSIGN(const size_t kept_key, hp.size_or("attention.key_length", config.kept()));
  OXBOW_ASSIGN(const size_t kept_value, hp.size_or("attention.value_length", config.latent));
  if (kept_key != config.kept() || kept_value != config.latent) {
    return fail(ErrorKind::kInvalidInput, "{} and {} are {} and {}, expected {} and {} from {} and {}",
                hp.key("attention.key_length"), hp.key("attention.value_length"), kept_key, kept_value,
                config.kept(), config.latent, hp.key("attention.kv_lora_rank"),
                hp.key("rope.dimension_count"));
  }
  return config;
}

Status read_experts_of(Hyperparameters& hp, const Network& network, Settings& s) {
  OXBOW_ASSIGN(s.experts, read_experts(hp, network, 2));
  OXBOW_ASSIGN(s.leading_dense, hp.size_or("leading_dense_block_count", 0));
  OXBOW_ASSIGN(s.expert_width, hp.size_or("expert_feed_forward_length", 0));
  if (s.experts.experts > 0 && s.expert_width == 0) {
    return fail(ErrorKind::kInvalidInput, "{} is 0 in a model with experts",
                hp.key("expert_feed_forward_length"));
  }
  OXBOW_ASSIGN(const size_t shared, hp.size_or("expert_shared_count", 0));
  s.shared_width = shared * s.expert_width;
  return {};
}

Result<Settings> read_settings(Hyperparameters& hp, size_t layers, const Network& network) {
  Settings s;
  OXBOW_ASSIGN(const size_t heads, hp.positive("attention.head_count"));
  OXBOW_ASSIGN(s.kv_heads, hp.per_layer("attention.head_count_kv", layers));
  for (const size_t kv_heads : s.kv_heads) {
    if (kv_heads > 1) {
      return fail(ErrorKind::kUnsupported, "{} holds {}; this build runs 0 (delta) and 1 (latent attention)",
                  hp.key("attention.head_count_kv"), kv_heads);
    }
  }
  OXBOW_ASSIGN(s.delta, read_delta(hp, heads, network));
  OXBOW_ASSIGN(s.latent, read_latent(hp, heads, network));
  OXBOW_ASSIGN(s.width, hp.positive("feed_forward_length"));
  OXBOW_TRY(read_experts_of(hp, network, s));
  ignore_rope(hp);  // positions are not encoded, in spite of the keys
  return s;
}

// One convolution over q, k, v out of three: [taps, 3 * inner], oldest tap first.
Result<std::vector<float>> load_convolutions(WeightLoader& weights, size_t layer,
                                             const KimiDeltaConfig& config) {
  const size_t inner = config.inner();
  std::vector<float> all;
  for (size_t part = 0; part < 3; ++part) {
    const std::string name = layer_tensor(layer, fmt::format("ssm_conv1d_{}.weight", "qkv"[part]));
    OXBOW_ASSIGN(const std::vector<float> values, weights.vector(name, {config.conv_taps, 1, inner}));
    all.resize(config.conv_taps * 3 * inner);
    for (size_t i = 0; i < values.size(); ++i) {
      all[(i % config.conv_taps * 3 + part) * inner + i / config.conv_taps] = values[i];
    }
  }
  return all;
}

Result<std::unique_ptr<Mixer>> build_delta(WeightLoader& weights, size_t layer,
                                           const KimiDeltaConfig& config) {
  KimiDeltaWeights parts;
  const auto name = [&](std::string_view part) { return layer_tensor(layer, part); };
  const size_t embedding = config.embedding;
  const size_t inner = config.inner();
  const size_t rank = config.head_dim;
  OXBOW_ASSIGN(parts.q, weights.matrix(name("attn_q.weight"), embedding, inner));
  OXBOW_ASSIGN(parts.k, weights.matrix(name("attn_k.weight"), embedding, inner));
  OXBOW_ASSIGN(parts.v, weights.matrix(name("attn_v.weight"), embedding, inner));
  OXBOW_ASSIGN(parts.decay_down, weights.matrix(name("ssm_f_a.weight"), embedding, rank));
  OXBOW_ASSIGN(parts.decay_up, weights.matrix(name("ssm_f_b.weight"), rank, inner));
  OXBOW_ASSIGN(parts.beta, weights.matrix(name("ssm_beta.weight"), embedding, config.heads));
  OXBOW_ASSIGN(parts.gate_down, weights.matrix(name("ssm_g_a.weight"), embedding, rank));
  OXBOW_ASSIGN(parts.gate_up, weights.matrix(name("ssm_g_b.weight"), rank, inner));
  OXBOW_ASSIGN(parts.conv, load_convolutions(weights, layer, config));
  OXBOW_ASSIGN(parts.dt_bias, weights.vector(name("ssm_dt.bias"), {inner}));
  OXBOW_ASSIGN(parts.a, weights.vector(name("ssm_a"), {1, config.heads}));
  OXBOW_ASSIGN(parts.norm, weights.vector(name("ssm_norm.weight"), {config.head_dim}));
  OXBOW_ASSIGN(parts.out, weights.matrix(name("attn_output.weight"), inner, embedding));
  return std::make_unique<KimiDelta>(config, std::move(parts));
}

Result<std::unique_ptr<Mixer>> build_latent(WeightLoader& weights, size_t layer,
                                            const LatentAttentionConfig& config) {
  LatentAttentionWeights parts;
  const auto name = [&](std::string_view part) { return layer_tensor(layer, part); };
  const size_t embedding = config.embedding;
  const size_t heads = config.heads;
  OXBOW_ASSIGN(parts.q, weights.matrix(name("attn_q.weight"), embedding, heads * config.query_dim()));
  OXBOW_ASSIGN(parts.compress, weights.matrix(name("attn_kv_a_mqa.weight"), embedding, config.kept()));
  OXBOW_ASSIGN(parts.norm, weights.vector(name("attn_kv_a_norm.weight"), {config.latent}));
  OXBOW_ASSIGN(parts.key_to_latent,
               weights.experts(name("attn_k_b.weight"), config.key_own, config.latent, heads));
  OXBOW_ASSIGN(parts.latent_to_value,
               weights.experts(name("attn_v_b.weight"), config.latent, config.value_dim, heads));
  OXBOW_ASSIGN(parts.output, weights.matrix(name("attn_output.weight"), heads * config.value_dim, embedding));
  return std::make_unique<LatentAttention>(config, std::move(parts));
}

Status build_feed_forward(WeightLoader& weights, const Settings& s, size_t index, size_t embedding,
                          Layer& layer) {
  if (s.experts.experts == 0 || index < s.leading_dense) {
    OXBOW_ASSIGN(layer.feed_forwards.emplace_back(), build_dense(weights, index, embedding, s.width));
    return {};
  }
  OXBOW_ASSIGN(layer.feed_forwards.emplace_back(), build_experts(weights, index, s.experts, s.expert_width));
  if (s.shared_width > 0) {
    OXBOW_ASSIGN(layer.feed_forwards.emplace_back(),
                 build_dense(weights, index, embedding, s.shared_width, Activation::kSilu, "_shexp"));
  }
  return {};
}

}  // namespace

Result<Network> build_kimi_linear(Hyperparameters& hp, WeightLoader& weights) {
  Network network;
  OXBOW_ASSIGN(const size_t layers, build_ends(hp, weights, network));
  OXBOW_ASSIGN(const Settings s, read_settings(hp, layers, network));
  for (size_t i = 0; i < layers; ++i) {
    Layer& layer = network.layers.emplace_back();
    OXBOW_ASSIGN(layer.mixer_norm, weights.vector(layer_tensor(i, "attn_norm.weight"), {network.embedding}));
    if (s.kv_heads[i] == 0) {
      OXBOW_ASSIGN(layer.mixers.emplace_back(), build_delta(weights, i, s.delta));
    } else {
      OXBOW_ASSIGN(layer.mixers.emplace_back(), build_latent(weights, i, s.latent));
    }
    OXBOW_ASSIGN(layer.feed_forward_norm,
                 weights.vector(layer_tensor(i, "ffn_norm.weight"), {network.embedding}));
    OXBOW_TRY(build_feed_forward(weights, s, i, network.embedding, layer));
  }
  return network;
}

std::vector<TinyModel> tiny_models_kimi_linear() {
  return {{.name = "experts",
           .settings = {{"block_count", 3},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"attention.head_count", 3},
                        {"attention.head_count_kv", {0, 1, 0}},
                        {"ssm.conv_kernel", 4},
                        {"kda.head_dim", 20},
                        {"attention.kv_lora_rank", 24},
                        {"rope.dimension_count", 8},
                        {"attention.key_length_mla", 20},
                        {"attention.value_length_mla", 20},
                        {"feed_forward_length", 40},
                        {"expert_count", 6},
                        {"expert_used_count", 2},
                        {"expert_feed_forward_length", 16},
                        {"expert_shared_count", 1},
                        {"leading_dense_block_count", 1}},
           .optional = {"exp_probs_b.bias", "output.weight"}},
          {.name = "fused_experts",
           .settings = {{"block_count", 2},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"attention.head_count", 2},
                        {"attention.head_count_kv", {0, 1}},
                        {"ssm.conv_kernel", 4},
                        {"kda.head_dim", 32},
                        {"attention.kv_lora_rank", 32},
                        {"rope.dimension_count", 32},
                        {"attention.key_length_mla", 64},
                        {"attention.value_length_mla", 32},
                        {"feed_forward_length", 32},
                        {"expert_count", 6},
                        {"expert_used_count", 2},
                        {"expert_feed_forward_length", 32},
                        {"expert_shared_count", 1},
                        {"leading_dense_block_count", 0}},
           .optional = {"ffn_gate_up_exps.weight"}}};
}

}  // namespace oxbow::model
