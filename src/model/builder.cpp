#include "model/builder.h"

#include "model/feed_forwards/swiglu.h"

namespace oxbow::model {
namespace {

constexpr size_t kMostLayers = 4096;

}  // namespace

std::string layer_tensor(size_t layer, std::string_view name) {
  return fmt::format("blk.{}.{}", layer, name);
}

Result<size_t> build_ends(Hyperparameters& hyperparameters, WeightLoader& weights, Network& network) {
  OXBOW_ASSIGN(const size_t layers, hyperparameters.positive("block_count"));
  if (layers > kMostLayers) {
    return fail(ErrorKind::kInvalidInput, "{} is {}, expected 1 to {}", hyperparameters.key("block_count"),
                layers, kMostLayers);
  }
  OXBOW_ASSIGN(network.embedding, hyperparameters.positive("embedding_length"));
  OXBOW_ASSIGN(network.context_length, hyperparameters.positive("context_length"));
  OXBOW_ASSIGN(const double epsilon, hyperparameters.real("attention.layer_norm_rms_epsilon"));
  network.norm_epsilon = static_cast<float>(epsilon);
  OXBOW_ASSIGN(network.vocabulary, weights.vocabulary_size());
  hyperparameters.ignore("vocab_size");

  const uint64_t embedding = network.embedding;
  OXBOW_ASSIGN(network.token_embedding, weights.tensor("token_embd.weight", {embedding, network.vocabulary}));
  OXBOW_ASSIGN(network.output_norm, weights.vector("output_norm.weight", {embedding}));
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
  OXBOW_ASSIGN(parts.q,
               weights.matrix(name("attn_q.weight"), config.embedding, config.heads * config.head_dim_k));
  OXBOW_ASSIGN(parts.k,
               weights.matrix(name("attn_k.weight"), config.embedding, config.kv_heads * config.head_dim_k));
  OXBOW_ASSIGN(parts.v,
               weights.matrix(name("attn_v.weight"), config.embedding, config.kv_heads * config.head_dim_v));
  OXBOW_ASSIGN(parts.output, weights.matrix(name("attn_output.weight"), config.heads * config.head_dim_v,
                                            config.embedding));
  return std::make_unique<Attention>(config, std::move(parts), network.ropes);
}

Result<Mamba2Config> read_mamba2(Hyperparameters& hyperparameters, const Network& network) {
  Mamba2Config config;
  config.embedding = network.embedding;
  config.norm_epsilon = network.norm_epsilon;
  OXBOW_ASSIGN(config.inner, hyperparameters.positive("ssm.inner_size"));
  OXBOW_ASSIGN(config.heads, hyperparameters.positive("ssm.time_step_rank"));
  OXBOW_ASSIGN(config.groups, hyperparameters.positive("ssm.group_count"));
  OXBOW_ASSIGN(config.state, hyperparameters.positive("ssm.state_size"));
  OXBOW_ASSIGN(config.conv_taps, hyperparameters.positive("ssm.conv_kernel"));
  const auto must_divide = [&](std::string_view part, size_t a, std::string_view whole, size_t b) -> Status {
    if (b % a == 0) return {};
    return fail(ErrorKind::kInvalidInput, "{} is {}, which does not divide {} = {}",
                hyperparameters.key(part), a, hyperparameters.key(whole), b);
  };
  OXBOW_TRY(must_divide("ssm.time_step_rank", config.heads, "ssm.inner_size", config.inner));
  OXBOW_TRY(must_divide("ssm.group_count", config.groups, "ssm.time_step_rank", config.heads));
  if (config.conv_taps > kMaxConvTaps) {
    return fail(ErrorKind::kUnsupported, "{} is {}; this build runs up to {}",
                hyperparameters.key("ssm.conv_kernel"), config.conv_taps, kMaxConvTaps);
  }
  return config;
}

namespace {

// [taps, channels] as the file has it (taps fastest) -> one row of channels per tap.
std::vector<float> taps_first(const std::vector<float>& weights, size_t taps, size_t channels) {
  std::vector<float> transposed(weights.size());
  for (size_t channel = 0; channel < channels; ++channel) {
    for (size_t tap = 0; tap < taps; ++tap)
      transposed[tap * channels + channel] = weights[channel * taps + tap];
  }
  return transposed;
}

}  // namespace

Result<std::unique_ptr<Mixer>> build_mamba2(WeightLoader& weights, size_t layer, const Mamba2Config& config) {
  Mamba2Weights parts;
  const auto name = [&](std::string_view part) { return layer_tensor(layer, part); };
  const uint64_t channels = config.channels();
  const uint64_t heads = config.heads;
  OXBOW_ASSIGN(parts.in,
               weights.matrix(name("ssm_in.weight"), config.embedding, config.inner + config.row_floats()));
  OXBOW_ASSIGN(const std::vector<float> conv,
               weights.vector(name("ssm_conv1d.weight"), {config.conv_taps, channels}));
  parts.conv = taps_first(conv, config.conv_taps, channels);
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

Result<std::unique_ptr<FeedForward>> build_swiglu(WeightLoader& weights, size_t layer, size_t embedding,
                                                  size_t width, std::string_view suffix) {
  SwigluWeights parts;
  const auto name = [&](std::string_view part) {
    return layer_tensor(layer, fmt::format("{}{}.weight", part, suffix));
  };
  OXBOW_ASSIGN(parts.gate, weights.matrix(name("ffn_gate"), embedding, width));
  OXBOW_ASSIGN(parts.up, weights.matrix(name("ffn_up"), embedding, width));
  OXBOW_ASSIGN(parts.down, weights.matrix(name("ffn_down"), width, embedding));
  return std::make_unique<Swiglu>(std::move(parts));
}

}  // namespace oxbow::model
