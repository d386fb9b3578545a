// Qwen3.5: gated delta nets with a gated attention layer after every few; dense or with experts.

#include "model/architectures/qwen35.h"

#include "model/architectures.h"
#include "model/builder.h"
#include "model/mixers/delta_net.h"

namespace oxbow::model {
namespace {

struct Settings {
  std::vector<bool> recurrent;  // the others are attention
  AttentionConfig attention;
  DeltaNetConfig delta;
  size_t width = 0;
  ExpertsConfig experts;
  size_t expert_width = 0;
  size_t shared_width = 0;
};

Result<std::vector<bool>> read_recurrent(Hyperparameters& hp, size_t layers) {
  OXBOW_ASSIGN(const size_t interval, hp.size_or("full_attention_interval", 4));
  if (interval == 0) {
    return fail(ErrorKind::kInvalidInput, "{} is 0, expected at least 1", hp.key("full_attention_interval"));
  }
  OXBOW_ASSIGN(std::vector<bool> recurrent, hp.layer_flags("attention.recurrent_layers", layers));
  for (size_t i = recurrent.size(); i < layers; ++i) recurrent.push_back((i + 1) % interval != 0);
  return recurrent;
}

// In a text all components of a position are equal, so that sections are no different from plain rope, as
// long as the first three cover every pair: the fourth component of a text's positions is 0.
Status check_sections(Hyperparameters& hp, const RopeConfig& rope) {
  constexpr std::string_view kKey = "rope.dimension_sections";
  OXBOW_ASSIGN(const std::vector<size_t> sections, hp.sizes(kKey));
  const size_t pairs = rope.dimensions / 2;
  if (sections.size() == 4 && sections[3] == 0 && sections[0] + sections[1] + sections[2] == pairs) return {};
  return fail(ErrorKind::kUnsupported, "{}: expected three sizes that add up to {} and a 0", hp.key(kKey),
              pairs);
}

Result<AttentionConfig> read_gated_attention(Hyperparameters& hp, QwenHybrid kind, Network& network) {
  OXBOW_ASSIGN(const size_t heads, hp.positive("attention.head_count"));
  OXBOW_ASSIGN(const size_t kv_heads, hp.size_or("attention.head_count_kv", heads));
  OXBOW_ASSIGN(AttentionConfig attention, read_attention(hp, network, heads, kv_heads));
  if (attention.head_dim_k != attention.head_dim_v) {
    return fail(ErrorKind::kUnsupported, "{} = {} differs from {} = {}; their gates would not fit",
                hp.key("attention.key_length"), attention.head_dim_k, hp.key("attention.value_length"),
                attention.head_dim_v);
  }
  attention.head_norms = true;
  attention.gated = true;
  OXBOW_ASSIGN(const RopeConfig rope, read_rope(hp, attention.head_dim_k, kernels::RopeStyle::kNeox));
  if (kind == QwenHybrid::k35) OXBOW_TRY(check_sections(hp, rope));
  attention.rope = network.add_rope(rope);
  return attention;
}

Result<DeltaNetConfig> read_delta_net(Hyperparameters& hp, QwenHybrid kind, const Network& network) {
  DeltaNetConfig config;
  config.embedding = network.embedding;
  config.norm_epsilon = network.norm_epsilon;
  OXBOW_ASSIGN(config.key_heads, hp.positive("ssm.group_count"));
  OXBOW_ASSIGN(config.value_heads, hp.positive("ssm.time_step_rank"));
  OXBOW_ASSIGN(config.head_dim, hp.positive("ssm.state_size"));
  OXBOW_ASSIGN(config.conv_taps, read_taps(hp, "ssm.conv_kernel"));
  OXBOW_ASSIGN(const size_t inner, hp.positive("ssm.inner_size"));
  if (inner != config.inner()) {
    return fail(ErrorKind::kInvalidInput, "{} is {}, expected {} * {} = {}", hp.key("ssm.inner_size"), inner,
                hp.key("ssm.time_step_rank"), hp.key("ssm.state_size"), config.inner());
  }
  OXBOW_TRY(must_divide(hp, "ssm.group_count", config.key_heads, "ssm.time_step_rank", config.value_heads));
  config.tiled_keys = kind == QwenHybrid::k35;
  return config;
}

Result<Settings> read_settings(Hyperparameters& hp, QwenHybrid kind, size_t layers, Network& network) {
  Settings s;
  OXBOW_ASSIGN(s.recurrent, read_recurrent(hp, layers));
  OXBOW_ASSIGN(s.attention, read_gated_attention(hp, kind, network));
  OXBOW_ASSIGN(s.delta, read_delta_net(hp, kind, network));
  OXBOW_ASSIGN(s.width, hp.size_or("feed_forward_length", 0));
  OXBOW_ASSIGN(s.experts, read_experts(hp, network));
  OXBOW_ASSIGN(s.expert_width, hp.size_or("expert_feed_forward_length", 0));
  OXBOW_ASSIGN(s.shared_width, hp.size_or("expert_shared_feed_forward_length", 0));
  return s;
}

// One tensor: per key head the betas, then the alphas of its value heads. Two: all betas, all alphas.
DeltaGates gate_places(QwenHybrid kind, const DeltaNetConfig& config) {
  DeltaGates gates;
  const size_t share = config.value_heads / config.key_heads;
  for (size_t head = 0; head < config.value_heads; ++head) {
    const size_t beta = kind == QwenHybrid::k35 ? head : head / share * 2 * share + head % share;
    gates.beta.push_back(beta);
    gates.alpha.push_back(beta + (kind == QwenHybrid::k35 ? config.value_heads : share));
  }
  return gates;
}

// attn_qkv and attn_gate, or the ssm_in of older Qwen3-Next files: per key head its q, its k, and the v and
// the z of its value heads.
Status load_inputs(WeightLoader& weights, size_t layer, QwenHybrid kind, const DeltaNetConfig& config,
                   DeltaNetWeights& parts) {
  const std::string fused = layer_tensor(layer, "ssm_in.weight");
  const size_t channels = config.channels();
  const size_t inner = config.inner();
  if (kind != QwenHybrid::kNext || !weights.has(fused)) {
    OXBOW_ASSIGN(parts.qkv,
                 weights.matrix(layer_tensor(layer, "attn_qkv.weight"), config.embedding, channels));
    OXBOW_ASSIGN(parts.z, weights.matrix(layer_tensor(layer, "attn_gate.weight"), config.embedding, inner));
    return {};
  }
  const size_t n = config.head_dim;
  const size_t share = inner / config.key_heads;
  const size_t group = 2 * n + 2 * share;
  const auto place = [=](size_t row, size_t width, size_t offset) {
    return row / width * group + offset + row % width;
  };
  const size_t keys = config.key_width();
  const auto qkv = [=](size_t row) {
    if (row < keys) return place(row, n, 0);
    return row < 2 * keys ? place(row - keys, n, n) : place(row - 2 * keys, share, 2 * n);
  };
  const auto z = [=](size_t row) { return place(row, share, 2 * n + share); };
  OXBOW_ASSIGN(parts.qkv, weights.matrix_rows(fused, config.embedding, channels + inner, channels, qkv));
  OXBOW_ASSIGN(parts.z, weights.matrix_rows(fused, config.embedding, channels + inner, inner, z));
  return {};
}

Result<std::unique_ptr<Mixer>> build_delta_net(WeightLoader& weights, size_t layer, QwenHybrid kind,
                                               DeltaNetConfig config) {
  DeltaNetWeights parts;
  const auto name = [&](std::string_view part) { return layer_tensor(layer, part); };
  const size_t heads = config.value_heads;
  OXBOW_TRY(load_inputs(weights, layer, kind, config, parts));
  if (kind == QwenHybrid::kNext) {
    OXBOW_ASSIGN(parts.gates.emplace_back(),
                 weights.matrix(name("ssm_ba.weight"), config.embedding, 2 * heads));
  } else {
    OXBOW_ASSIGN(parts.gates.emplace_back(),
                 weights.matrix(name("ssm_beta.weight"), config.embedding, heads));
    OXBOW_ASSIGN(parts.gates.emplace_back(),
                 weights.matrix(name("ssm_alpha.weight"), config.embedding, heads));
  }
  OXBOW_ASSIGN(parts.conv,
               load_taps(weights, name("ssm_conv1d.weight"), config.conv_taps, config.channels()));
  OXBOW_ASSIGN(parts.dt_bias, weights.vector(name("ssm_dt.bias"), {heads}));
  OXBOW_ASSIGN(parts.a, weights.vector(name("ssm_a"), {heads}));
  OXBOW_ASSIGN(parts.norm, weights.vector(name("ssm_norm.weight"), {config.head_dim}));
  OXBOW_ASSIGN(parts.out, weights.matrix(name("ssm_out.weight"), config.inner(), config.embedding));
  config.gates = gate_places(kind, config);  // the tensors show that the heads exist
  return std::make_unique<DeltaNet>(config, std::move(parts));
}

Status build_feed_forward(Hyperparameters& hp, WeightLoader& weights, const Settings& s, size_t index,
                          size_t embedding, Layer& layer) {
  if (!weights.has(layer_tensor(index, "ffn_gate_inp.weight"))) {
    if (s.width == 0) {
      return fail(ErrorKind::kInvalidInput, "{} is 0, but layer {} has no experts",
                  hp.key("feed_forward_length"), index);
    }
    OXBOW_ASSIGN(layer.feed_forwards.emplace_back(), build_dense(weights, index, embedding, s.width));
    return {};
  }
  if (s.experts.experts == 0 || s.expert_width == 0) {
    return fail(ErrorKind::kInvalidInput, "layer {} has experts, but {} or {} is 0", index,
                hp.key("expert_count"), hp.key("expert_feed_forward_length"));
  }
  OXBOW_ASSIGN(layer.feed_forwards.emplace_back(), build_experts(weights, index, s.experts, s.expert_width));
  if (s.shared_width > 0) {
    OXBOW_ASSIGN(layer.feed_forwards.emplace_back(),
                 build_dense(weights, index, embedding, s.shared_width, Activation::kSilu, "_shexp", true));
  }
  return {};
}

}  // namespace

Result<Network> build_qwen_hybrid(Hyperparameters& hp, WeightLoader& weights, QwenHybrid kind) {
  Network network;
  OXBOW_ASSIGN(const size_t layers, build_ends(hp, weights, network));
  OXBOW_ASSIGN(const Settings s, read_settings(hp, kind, layers, network));
  for (size_t i = 0; i < layers; ++i) {
    Layer& layer = network.layers.emplace_back();
    OXBOW_ASSIGN(layer.mixer_norm, weights.vector(layer_tensor(i, "attn_norm.weight"), {network.embedding}));
    if (s.recurrent[i]) {
      OXBOW_ASSIGN(layer.mixers.emplace_back(), build_delta_net(weights, i, kind, s.delta));
    } else {
      OXBOW_ASSIGN(layer.mixers.emplace_back(), build_attention(weights, i, s.attention, network));
    }
    // The norm before the feed-forward, in spite of its name.
    OXBOW_ASSIGN(layer.feed_forward_norm,
                 weights.vector(layer_tensor(i, "post_attention_norm.weight"), {network.embedding}));
    OXBOW_TRY(build_feed_forward(hp, weights, s, i, network.embedding, layer));
  }
  return network;
}

Result<Network> build_qwen35(Hyperparameters& hp, WeightLoader& weights) {
  return build_qwen_hybrid(hp, weights, QwenHybrid::k35);
}

std::vector<TinyModel> tiny_models_qwen35() {
  return {{.name = "dense",
           .settings = {{"block_count", 2},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"attention.head_count", 2},
                        {"attention.head_count_kv", 1},
                        {"attention.key_length", 16},
                        {"attention.value_length", 16},
                        {"ssm.inner_size", 64},
                        {"ssm.time_step_rank", 4},
                        {"ssm.state_size", 16},
                        {"ssm.conv_kernel", 4},
                        {"ssm.group_count", 2},
                        {"rope.dimension_count", 8},
                        {"full_attention_interval", 2},
                        {"rope.dimension_sections", {2, 1, 1, 0}},
                        {"feed_forward_length", 48}}}};
}

}  // namespace oxbow::model
