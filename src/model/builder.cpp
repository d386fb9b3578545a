#include "model/builder.h"

#include <cmath>

namespace oxbow::model {

std::string layer_tensor(size_t layer, std::string_view name) {
  return fmt::format("blk.{}.{}", layer, name);
}

Result<size_t> build_ends(Hyperparameters& hyperparameters, WeightLoader& weights, Network& network,
                          const EndNames& names) {
  OXBOW_ASSIGN(const size_t layers, hyperparameters.main_layers());
  for (size_t i = 0; i < hyperparameters.draft_layers(); ++i) weights.ignore_layer(layers + i);
  OXBOW_ASSIGN(network.embedding, hyperparameters.positive("embedding_length"));
  OXBOW_ASSIGN(network.context_length, hyperparameters.positive("context_length"));
  OXBOW_ASSIGN(const double epsilon, hyperparameters.real(names.epsilon));
  if (!(epsilon >= 0.0)) {
    return fail(ErrorKind::kInvalidInput, "{} is {}, expected 0 or more", hyperparameters.key(names.epsilon),
                epsilon);
  }
  network.norm_epsilon = static_cast<float>(epsilon);
  OXBOW_ASSIGN(network.vocabulary, weights.vocabulary_size());
  hyperparameters.ignore("vocab_size");

  const uint64_t embedding = network.embedding;
  OXBOW_ASSIGN(network.token_embedding, weights.tensor("token_embd.weight", {embedding, network.vocabulary}));
  OXBOW_ASSIGN(network.output_norm, weights.vector(std::string(names.output_norm), {embedding}));
  network.tied_output = !weights.has("output.weight");
  OXBOW_ASSIGN(network.output, weights.matrix(network.tied_output ? "token_embd.weight" : "output.weight",
                                              embedding, network.vocabulary));
  return layers;
}

Result<RopeConfig> read_rope(Hyperparameters& hyperparameters, size_t head_dim, kernels::RopeStyle style) {
  RopeConfig rope;
  rope.style = style;
  OXBOW_ASSIGN(rope.dimensions, hyperparameters.size_or("rope.dimension_count", head_dim));
  OXBOW_ASSIGN(rope.frequency_base, hyperparameters.real_or("rope.freq_base", 10000.0));
  if (rope.dimensions > head_dim || rope.dimensions % 2 != 0 || rope.dimensions == 0) {
    return fail(ErrorKind::kInvalidInput, "{} is {}, expected an even number from 2 to the head size {}",
                hyperparameters.key("rope.dimension_count"), rope.dimensions, head_dim);
  }
  if (!(rope.frequency_base > 0.0)) {
    return fail(ErrorKind::kInvalidInput, "{} is {}, expected a positive number",
                hyperparameters.key("rope.freq_base"), rope.frequency_base);
  }
  OXBOW_ASSIGN(const std::string type, hyperparameters.text_or("rope.scaling.type", "none"));
  OXBOW_ASSIGN(const double factor, hyperparameters.real_or("rope.scaling.factor", 1.0));
  if (type != "none" && type != "linear") {
    return fail(ErrorKind::kUnsupported, "{} is \"{}\"; this build computes none and linear",
                hyperparameters.key("rope.scaling.type"), type);
  }
  if (!(factor >= 0.0)) {
    return fail(ErrorKind::kInvalidInput, "{} is {}, expected a positive number",
                hyperparameters.key("rope.scaling.factor"), factor);
  }
  if (type == "linear" && factor > 0.0) rope.position_scale = 1.0 / factor;
  return rope;
}

void ignore_rope(Hyperparameters& hyperparameters) {
  for (std::string_view key : {"rope.freq_base", "rope.dimension_count", "rope.scaling.type",
                               "rope.scaling.factor", "rope.scaling.finetuned"}) {
    hyperparameters.ignore(key);
  }
}

void ignore_attention(Hyperparameters& hyperparameters) {
  ignore_rope(hyperparameters);
  for (std::string_view key : {"attention.key_length", "attention.value_length"}) hyperparameters.ignore(key);
}

Result<LayerHeads> read_heads(Hyperparameters& hyperparameters, size_t layers) {
  LayerHeads result;
  OXBOW_ASSIGN(result.heads, hyperparameters.per_layer("attention.head_count", layers));
  result.kv_heads = result.heads;
  if (hyperparameters.has("attention.head_count_kv")) {
    OXBOW_ASSIGN(result.kv_heads, hyperparameters.per_layer("attention.head_count_kv", layers));
  }
  return result;
}

Result<AttentionConfig> read_attention(Hyperparameters& hyperparameters, const Network& network, size_t heads,
                                       size_t kv_heads) {
  AttentionConfig config;
  config.embedding = network.embedding;
  config.heads = heads;
  config.kv_heads = kv_heads;
  config.norm_epsilon = network.norm_epsilon;
  const size_t equal_share = heads > 0 ? network.embedding / heads : 0;
  OXBOW_ASSIGN(config.head_dim_k, hyperparameters.size_or("attention.key_length", equal_share));
  OXBOW_ASSIGN(config.head_dim_v, hyperparameters.size_or("attention.value_length", equal_share));
  OXBOW_TRY(check_heads(hyperparameters, config));
  config.scale = 1.0f / std::sqrt(static_cast<float>(config.head_dim_k));
  return config;
}

Status check_heads(const Hyperparameters& hyperparameters, const AttentionConfig& config) {
  if (config.heads == 0 || config.kv_heads == 0 || config.heads % config.kv_heads != 0) {
    return fail(ErrorKind::kInvalidInput, "{} is {}, expected a multiple of the {} K/V heads",
                hyperparameters.key("attention.head_count"), config.heads, config.kv_heads);
  }
  if (config.head_dim_k == 0 || config.head_dim_v == 0) {
    return fail(ErrorKind::kInvalidInput, "{} = {} leaves heads of size 0",
                hyperparameters.key("attention.head_count"), config.heads);
  }
  return {};
}

Result<std::unique_ptr<Mixer>> build_attention(WeightLoader& weights, size_t layer,
                                               const AttentionConfig& config, const Network& network) {
  AttentionWeights parts;
  const auto name = [&](std::string_view part) { return layer_tensor(layer, part); };
  OXBOW_ASSIGN(parts.q, weights.matrix(name("attn_q.weight"), config.embedding, config.query_outputs()));
  OXBOW_ASSIGN(parts.k,
               weights.matrix(name("attn_k.weight"), config.embedding, config.kv_heads * config.head_dim_k));
  OXBOW_ASSIGN(parts.v,
               weights.matrix(name("attn_v.weight"), config.embedding, config.kv_heads * config.head_dim_v));
  OXBOW_ASSIGN(parts.output, weights.matrix(name("attn_output.weight"), config.heads * config.head_dim_v,
                                            config.embedding));
  if (config.head_norms) {
    OXBOW_ASSIGN(parts.q_norm, weights.vector(name("attn_q_norm.weight"), {config.head_dim_k}));
    OXBOW_ASSIGN(parts.k_norm, weights.vector(name("attn_k_norm.weight"), {config.head_dim_k}));
  }
  return std::make_unique<Attention>(config, std::move(parts), network.ropes);
}

Status must_divide(const Hyperparameters& hyperparameters, std::string_view part, size_t part_value,
                   std::string_view whole, size_t whole_value) {
  if (whole_value % part_value == 0) return {};
  return fail(ErrorKind::kInvalidInput, "{} is {}, which does not divide {} = {}", hyperparameters.key(part),
              part_value, hyperparameters.key(whole), whole_value);
}

Result<size_t> read_taps(Hyperparameters& hyperparameters, std::string_view name) {
  OXBOW_ASSIGN(const size_t taps, hyperparameters.positive(name));
  if (taps <= kMaxConvTaps) return taps;
  return fail(ErrorKind::kUnsupported, "{} is {}; this build runs up to {}", hyperparameters.key(name), taps,
              kMaxConvTaps);
}

Result<std::vector<float>> load_taps(WeightLoader& weights, const std::string& name, size_t taps,
                                     size_t channels) {
  OXBOW_ASSIGN(const std::vector<float> values, weights.vector(name, {taps, channels}));
  std::vector<float> transposed(values.size());
  for (size_t channel = 0; channel < channels; ++channel) {
    for (size_t tap = 0; tap < taps; ++tap)
      transposed[tap * channels + channel] = values[channel * taps + tap];
  }
  return transposed;
}

Result<Mamba2Config> read_mamba2(Hyperparameters& hyperparameters, const Network& network) {
  Mamba2Config config;
  config.embedding = network.embedding;
  config.norm_epsilon = network.norm_epsilon;
  OXBOW_ASSIGN(config.inner, hyperparameters.positive("ssm.inner_size"));
  OXBOW_ASSIGN(config.heads, hyperparameters.positive("ssm.time_step_rank"));
  OXBOW_ASSIGN(config.groups, hyperparameters.positive("ssm.group_count"));
  OXBOW_ASSIGN(config.state, hyperparameters.positive("ssm.state_size"));
  OXBOW_ASSIGN(config.conv_taps, read_taps(hyperparameters, "ssm.conv_kernel"));
  OXBOW_TRY(must_divide(hyperparameters, "ssm.time_step_rank", config.heads, "ssm.inner_size", config.inner));
  OXBOW_TRY(
      must_divide(hyperparameters, "ssm.group_count", config.groups, "ssm.time_step_rank", config.heads));
  return config;
}

Result<std::unique_ptr<Mixer>> build_mamba2(WeightLoader& weights, size_t layer, const Mamba2Config& config) {
  Mamba2Weights parts;
  const auto name = [&](std::string_view part) { return layer_tensor(layer, part); };
  const uint64_t channels = config.channels();
  const uint64_t heads = config.heads;
  OXBOW_ASSIGN(parts.in,
               weights.matrix(name("ssm_in.weight"), config.embedding, config.inner + config.row_floats()));
  OXBOW_ASSIGN(parts.conv, load_taps(weights, name("ssm_conv1d.weight"), config.conv_taps, channels));
  if (weights.has(name("ssm_conv1d.bias"))) {
    OXBOW_ASSIGN(parts.conv_bias, weights.vector(name("ssm_conv1d.bias"), {channels}));
  }
  OXBOW_ASSIGN(parts.dt_bias, weights.vector(name("ssm_dt.bias"), {heads}));
  OXBOW_ASSIGN(parts.a, weights.vector(name("ssm_a"), {1, heads}));
  OXBOW_ASSIGN(parts.d, weights.vector(name("ssm_d"), {1, heads}));
  if (weights.has(name("ssm_norm.weight"))) {
    OXBOW_ASSIGN(parts.norm,
                 weights.vector(name("ssm_norm.weight"), {config.inner / config.groups, config.groups}));
  }
  OXBOW_ASSIGN(parts.out, weights.matrix(name("ssm_out.weight"), config.inner, config.embedding));
  return std::make_unique<Mamba2>(config, std::move(parts));
}

Result<Mamba1Config> read_mamba1(Hyperparameters& hyperparameters, const Network& network) {
  Mamba1Config config;
  config.embedding = network.embedding;
  config.norm_epsilon = network.norm_epsilon;
  OXBOW_ASSIGN(config.inner, hyperparameters.positive("ssm.inner_size"));
  OXBOW_ASSIGN(config.state, hyperparameters.positive("ssm.state_size"));
  OXBOW_ASSIGN(config.dt_rank, hyperparameters.positive("ssm.time_step_rank"));
  OXBOW_ASSIGN(config.conv_taps, read_taps(hyperparameters, "ssm.conv_kernel"));
  OXBOW_ASSIGN(config.norms, hyperparameters.flag_or("ssm.dt_b_c_rms", false));
  return config;
}

namespace {

// [channels, state] as the file has it -> lane blocks, 16 channels each, padded with zeros.
std::vector<float> lane_blocks(const std::vector<float>& values, size_t channels, size_t state) {
  std::vector<float> blocks(kernels::lane_block_floats(channels, state));
  for (size_t channel = 0; channel < channels; ++channel) {
    for (size_t n = 0; n < state; ++n)
      blocks[(channel / 16 * state + n) * 16 + channel % 16] = values[channel * state + n];
  }
  return blocks;
}

}  // namespace

Result<std::unique_ptr<Mixer>> build_mamba1(WeightLoader& weights, size_t layer, const Mamba1Config& shape) {
  Mamba1Config config = shape;
  Mamba1Weights parts;
  const auto name = [&](std::string_view part) { return layer_tensor(layer, part); };
  const size_t inner = config.inner;
  const size_t state = config.state;
  OXBOW_ASSIGN(parts.in, weights.matrix(name("ssm_in.weight"), config.embedding, 2 * inner));
  OXBOW_ASSIGN(parts.conv, load_taps(weights, name("ssm_conv1d.weight"), config.conv_taps, inner));
  if (weights.has(name("ssm_conv1d.bias"))) {
    OXBOW_ASSIGN(parts.conv_bias, weights.vector(name("ssm_conv1d.bias"), {inner}));
  }
  OXBOW_ASSIGN(parts.x, weights.matrix(name("ssm_x.weight"), inner, config.dt_rank + 2 * state));
  if (weights.has(name("ssm_dt_norm.weight"))) {
    config.norms = true;
    OXBOW_ASSIGN(parts.dt_norm, weights.vector(name("ssm_dt_norm.weight"), {config.dt_rank}));
    OXBOW_ASSIGN(parts.b_norm, weights.vector(name("ssm_b_norm.weight"), {state}));
    OXBOW_ASSIGN(parts.c_norm, weights.vector(name("ssm_c_norm.weight"), {state}));
  }
  OXBOW_ASSIGN(parts.dt, weights.matrix(name("ssm_dt.weight"), config.dt_rank, inner));
  OXBOW_ASSIGN(parts.dt_bias, weights.vector(name("ssm_dt.bias"), {inner}));
  OXBOW_ASSIGN(const std::vector<float> a, weights.vector(name("ssm_a"), {state, inner}));
  parts.a = lane_blocks(a, inner, state);
  OXBOW_ASSIGN(parts.d, weights.vector(name("ssm_d"), {inner}));
  OXBOW_ASSIGN(parts.out, weights.matrix(name("ssm_out.weight"), inner, config.embedding));
  return std::make_unique<Mamba1>(config, std::move(parts));
}

Result<std::unique_ptr<FeedForward>> build_dense(WeightLoader& weights, size_t layer, size_t embedding,
                                                 size_t width, Activation activation, std::string_view suffix,
                                                 bool gated_output) {
  DenseWeights parts;
  const auto name = [&](std::string_view part) {
    return layer_tensor(layer, fmt::format("{}{}.weight", part, suffix));
  };
  if (has_gate(activation)) {
    OXBOW_ASSIGN(parts.gate, weights.matrix(name("ffn_gate"), embedding, width));
  }
  OXBOW_ASSIGN(parts.up, weights.matrix(name("ffn_up"), embedding, width));
  OXBOW_ASSIGN(parts.down, weights.matrix(name("ffn_down"), width, embedding));
  if (gated_output) {
    OXBOW_ASSIGN(parts.output_gate, weights.matrix(name("ffn_gate_inp"), embedding, 1));
  }
  return std::make_unique<Dense>(activation, std::move(parts));
}

Result<ExpertsConfig> read_experts(Hyperparameters& hyperparameters, const Network& network, size_t gating) {
  ExpertsConfig config;
  config.embedding = network.embedding;
  OXBOW_ASSIGN(config.experts, hyperparameters.size_or("expert_count", 0));
  OXBOW_ASSIGN(config.used, hyperparameters.size_or("expert_used_count", 0));
  if (config.experts > 0 && (config.used == 0 || config.used > config.experts)) {
    return fail(ErrorKind::kInvalidInput, "{} is {}, expected 1 to {} = {}",
                hyperparameters.key("expert_used_count"), config.used, hyperparameters.key("expert_count"),
                config.experts);
  }
  OXBOW_ASSIGN(const size_t function, hyperparameters.size_or("expert_gating_func", gating));
  if (function != 1 && function != 2) {
    return fail(ErrorKind::kUnsupported, "{} is {}; this build computes 1 (softmax) and 2 (sigmoid)",
                hyperparameters.key("expert_gating_func"), function);
  }
  config.sigmoid = function == 2;
  OXBOW_ASSIGN(config.renormalize, hyperparameters.flag_or("expert_weights_norm", true));
  OXBOW_ASSIGN(const double scale, hyperparameters.real_or("expert_weights_scale", 1.0));
  config.weight_scale = scale == 0.0 ? 1.0f : static_cast<float>(scale);
  for (std::string_view key : {"expert_group_count", "expert_group_used_count"}) {
    OXBOW_ASSIGN(const size_t groups, hyperparameters.size_or(key, 1));
    if (groups > 1) {
      return fail(ErrorKind::kUnsupported, "{} is {}; this build chooses among all experts at once",
                  hyperparameters.key(key), groups);
    }
  }
  return config;
}

Result<std::unique_ptr<FeedForward>> build_experts(WeightLoader& weights, size_t layer,
                                                   const ExpertsConfig& config, size_t width) {
  ExpertsWeights parts;
  const auto name = [&](std::string_view part) { return layer_tensor(layer, part); };
  const size_t inputs = config.expert_inputs();
  const size_t experts = config.experts;
  OXBOW_ASSIGN(parts.router, weights.matrix(name("ffn_gate_inp.weight"), config.embedding, experts));
  if (weights.has(name("exp_probs_b.bias"))) {
    OXBOW_ASSIGN(parts.selection_bias, weights.vector(name("exp_probs_b.bias"), {experts}));
  }
  if (config.latent > 0) {
    OXBOW_ASSIGN(parts.latent_down,
                 weights.matrix(name("ffn_latent_down.weight"), config.embedding, config.latent));
    OXBOW_ASSIGN(parts.latent_up,
                 weights.matrix(name("ffn_latent_up.weight"), config.latent, config.embedding));
  }
  const std::string fused = name("ffn_gate_up_exps.weight");
  if (has_gate(config.activation) && weights.has(fused)) {
    const auto half = [&](size_t first) {
      return weights.expert_rows(fused, inputs, 2 * width, width, experts,
                                 [first](size_t row) { return first + row; });
    };
    OXBOW_ASSIGN(parts.gate, half(0));
    OXBOW_ASSIGN(parts.up, half(width));
  } else {
    if (has_gate(config.activation)) {
      OXBOW_ASSIGN(parts.gate, weights.experts(name("ffn_gate_exps.weight"), inputs, width, experts));
    }
    OXBOW_ASSIGN(parts.up, weights.experts(name("ffn_up_exps.weight"), inputs, width, experts));
  }
  OXBOW_ASSIGN(parts.down, weights.experts(name("ffn_down_exps.weight"), width, inputs, experts));
  return std::make_unique<Experts>(config, std::move(parts));
}

}  // namespace oxbow::model
