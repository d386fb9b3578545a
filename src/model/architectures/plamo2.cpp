// PLaMo 2: Mamba layers whose channels share step widths and decays in heads, attention layers with a norm
// per head, and norms before and after both halves of a layer.

#include "model/architectures.h"
#include "model/builder.h"

namespace oxbow::model {
namespace {

// Step widths come from at least this many values, however narrow the model is.
constexpr size_t kSmallestStepRank = 64;

Result<Mamba1Config> read_mamba(Hyperparameters& hp, const Network& network) {
  Mamba1Config config;
  config.embedding = network.embedding;
  config.norm_epsilon = network.norm_epsilon;
  config.norms = true;
  config.dt_rank = std::max(kSmallestStepRank, network.embedding / 16);
  OXBOW_ASSIGN(config.inner, hp.positive("ssm.inner_size"));
  OXBOW_ASSIGN(config.state, hp.positive("ssm.state_size"));
  OXBOW_ASSIGN(config.heads, hp.positive("ssm.time_step_rank"));
  OXBOW_ASSIGN(config.conv_taps, read_taps(hp, "ssm.conv_kernel"));
  OXBOW_TRY(must_divide(hp, "ssm.time_step_rank", config.heads, "ssm.inner_size", config.inner));
  OXBOW_ASSIGN(const size_t groups, hp.size_or("ssm.group_count", 0));
  if (groups > 1) {
    return fail(ErrorKind::kUnsupported, "{} is {}; this build computes one B and C for all heads",
                hp.key("ssm.group_count"), groups);
  }
  return config;
}

// The tensors put z before x in each head, and B, C before the step widths.
Result<std::unique_ptr<Mixer>> build_mamba(WeightLoader& weights, size_t layer, const Mamba1Config& config) {
  Mamba1Weights parts;
  const auto name = [&](std::string_view part) { return layer_tensor(layer, part); };
  const size_t inner = config.inner;
  const size_t state = config.state;
  const size_t rank = config.dt_rank;
  const size_t head = inner / config.heads;
  OXBOW_ASSIGN(parts.in, weights.matrix_rows(name("ssm_in.weight"), config.embedding, 2 * inner, 2 * inner,
                                             [=](size_t row) {
                                               const size_t channel = row % inner;
                                               const size_t place = row < inner ? head : 0;
                                               return channel / head * 2 * head + place + channel % head;
                                             }));
  OXBOW_ASSIGN(parts.conv, load_taps(weights, name("ssm_conv1d.weight"), config.conv_taps, inner));
  OXBOW_ASSIGN(parts.x,
               weights.matrix_rows(name("ssm_x.weight"), inner, rank + 2 * state, rank + 2 * state,
                                   [=](size_t row) { return row < rank ? 2 * state + row : row - rank; }));
  OXBOW_ASSIGN(parts.dt_norm, weights.vector(name("ssm_dt_norm"), {rank}));
  OXBOW_ASSIGN(parts.b_norm, weights.vector(name("ssm_b_norm"), {state}));
  OXBOW_ASSIGN(parts.c_norm, weights.vector(name("ssm_c_norm"), {state}));
  OXBOW_ASSIGN(parts.dt, weights.matrix(name("ssm_dt.weight"), rank, config.heads));
  OXBOW_ASSIGN(parts.dt_bias, weights.vector(name("ssm_dt.bias"), {config.heads}));
  OXBOW_ASSIGN(parts.a, weights.vector(name("ssm_a"), {config.heads}));
  OXBOW_ASSIGN(parts.d, weights.vector(name("ssm_d"), {config.heads}));
  OXBOW_ASSIGN(parts.out, weights.matrix(name("ssm_out.weight"), inner, config.embedding));
  return std::make_unique<Mamba1>(config, std::move(parts));
}

Result<std::unique_ptr<Mixer>> build_fused_attention(WeightLoader& weights, size_t layer,
                                                     const AttentionConfig& config, const Network& network) {
  AttentionWeights parts;
  const auto name = [&](std::string_view part) { return layer_tensor(layer, part); };
  const size_t q = config.heads * config.head_dim_k;
  const size_t k = config.kv_heads * config.head_dim_k;
  const size_t v = config.kv_heads * config.head_dim_v;
  const auto part = [&](size_t first, size_t rows) {
    return weights.matrix_rows(name("attn_qkv.weight"), config.embedding, q + k + v, rows,
                               [first](size_t row) { return first + row; });
  };
  OXBOW_ASSIGN(parts.q, part(0, q));
  OXBOW_ASSIGN(parts.k, part(q, k));
  OXBOW_ASSIGN(parts.v, part(q + k, v));
  OXBOW_ASSIGN(parts.q_norm, weights.vector(name("attn_q_norm.weight"), {config.head_dim_k, config.heads}));
  OXBOW_ASSIGN(parts.k_norm,
               weights.vector(name("attn_k_norm.weight"), {config.head_dim_k, config.kv_heads}));
  OXBOW_ASSIGN(parts.output, weights.matrix(name("attn_output.weight"), config.heads * config.head_dim_v,
                                            config.embedding));
  return std::make_unique<Attention>(config, std::move(parts), network.ropes);
}

Result<AttentionConfig> read_layer_attention(Hyperparameters& hp, size_t heads, size_t kv_heads,
                                             Network& network) {
  OXBOW_ASSIGN(AttentionConfig config, read_attention(hp, network, heads, kv_heads));
  config.head_norms = true;
  OXBOW_ASSIGN(const RopeConfig rope, read_rope(hp, config.head_dim_k, kernels::RopeStyle::kNeox));
  config.rope = network.add_rope(rope);
  return config;
}

// One tensor holds the gate, then the other factor.
Result<std::unique_ptr<FeedForward>> build_fused_dense(WeightLoader& weights, size_t layer, size_t embedding,
                                                       size_t width) {
  DenseWeights parts;
  const auto half = [&](size_t first) {
    return weights.matrix_rows(layer_tensor(layer, "ffn_up.weight"), embedding, 2 * width, width,
                               [first](size_t row) { return first + row; });
  };
  OXBOW_ASSIGN(parts.gate, half(0));
  OXBOW_ASSIGN(parts.up, half(width));
  OXBOW_ASSIGN(parts.down, weights.matrix(layer_tensor(layer, "ffn_down.weight"), width, embedding));
  return std::make_unique<Dense>(Activation::kSilu, std::move(parts));
}

}  // namespace

Result<Network> build_plamo2(Hyperparameters& hp, WeightLoader& weights) {
  Network network;
  OXBOW_ASSIGN(const size_t layers, build_ends(hp, weights, network));
  OXBOW_ASSIGN(const size_t width, hp.positive("feed_forward_length"));
  OXBOW_ASSIGN(const LayerHeads heads, read_heads(hp, layers));
  OXBOW_ASSIGN(const Mamba1Config mamba, read_mamba(hp, network));
  for (size_t i = 0; i < layers; ++i) {
    Layer& layer = network.layers.emplace_back();
    const auto norm = [&](std::string_view name) {
      return weights.vector(layer_tensor(i, name), {network.embedding});
    };
    OXBOW_ASSIGN(layer.mixer_norm, norm("attn_norm.weight"));
    if (heads.kv_heads[i] == 0) {
      OXBOW_ASSIGN(layer.mixers.emplace_back(), build_mamba(weights, i, mamba));
    } else {
      OXBOW_ASSIGN(const AttentionConfig attention,
                   read_layer_attention(hp, heads.heads[i], heads.kv_heads[i], network));
      OXBOW_ASSIGN(layer.mixers.emplace_back(), build_fused_attention(weights, i, attention, network));
    }
    OXBOW_ASSIGN(layer.mixer_post_norm, norm("post_attention_norm"));
    OXBOW_ASSIGN(layer.feed_forward_norm, norm("ffn_norm.weight"));
    OXBOW_ASSIGN(layer.feed_forwards.emplace_back(), build_fused_dense(weights, i, network.embedding, width));
    OXBOW_ASSIGN(layer.feed_forward_post_norm, norm("post_ffw_norm"));
  }
  if (network.ropes.empty()) ignore_attention(hp);
  return network;
}

std::vector<TinyModel> tiny_models_plamo2() {
  return {{.name = "recurrent_first",
           .settings = {{"block_count", 3},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"attention.head_count", 2},
                        {"attention.head_count_kv", {0, 1, 0}},
                        {"attention.key_length", 24},
                        {"attention.value_length", 24},
                        {"ssm.inner_size", 48},
                        {"ssm.time_step_rank", 3},
                        {"ssm.state_size", 16},
                        {"ssm.conv_kernel", 4},
                        {"ssm.group_count", 0},
                        {"feed_forward_length", 40}},
           .optional = {"output.weight"}},
          {.name = "attention_first",
           .settings = {{"block_count", 2},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"attention.head_count", 2},
                        {"attention.head_count_kv", {2, 0}},
                        {"attention.key_length", 16},
                        {"attention.value_length", 16},
                        {"ssm.inner_size", 64},
                        {"ssm.time_step_rank", 2},
                        {"ssm.state_size", 8},
                        {"ssm.conv_kernel", 4},
                        {"ssm.group_count", 0},
                        {"feed_forward_length", 32}}}};
}

}  // namespace oxbow::model
