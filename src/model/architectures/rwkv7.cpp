// RWKV-7: time mixing and channel mixing behind layer norms; nothing but recurrent state.

#include "model/mixers/rwkv7.h"

#include "model/architectures.h"
#include "model/builder.h"
#include "model/feed_forwards/channel_mix.h"

namespace oxbow::model {
namespace {

struct Settings {
  size_t head_size = 0;
  size_t width = 0;
  size_t decay_rank = 0;
  size_t rate_rank = 0;
  size_t value_rank = 0;
  size_t gate_rank = 0;
};

Result<Settings> read_settings(Hyperparameters& hp, const Network& network) {
  Settings s;
  OXBOW_ASSIGN(s.head_size, hp.positive("wkv.head_size"));
  OXBOW_TRY(must_divide(hp, "wkv.head_size", s.head_size, "embedding_length", network.embedding));
  OXBOW_ASSIGN(s.width, hp.positive("feed_forward_length"));
  OXBOW_ASSIGN(s.decay_rank, hp.positive("attention.decay_lora_rank"));
  OXBOW_ASSIGN(s.rate_rank, hp.positive("attention.iclr_lora_rank"));
  OXBOW_ASSIGN(s.value_rank, hp.positive("attention.value_residual_mix_lora_rank"));
  OXBOW_ASSIGN(s.gate_rank, hp.positive("attention.gate_lora_rank"));
  OXBOW_ASSIGN(const size_t shifts, hp.size_or("token_shift_count", 2));
  if (shifts != 2) {
    return fail(ErrorKind::kUnsupported, "{} is {}; this build runs layers that shift tokens twice",
                hp.key("token_shift_count"), shifts);
  }
  OXBOW_ASSIGN(const size_t heads, hp.size_or("attention.head_count", 0));
  if (heads != 0) {
    return fail(ErrorKind::kUnsupported, "{} is {}; this build runs layers without attention",
                hp.key("attention.head_count"), heads);
  }
  return s;
}

Result<Norm> load_norm(WeightLoader& weights, const std::string& name, size_t size) {
  Norm norm;
  OXBOW_ASSIGN(norm.scale, weights.vector(name + ".weight", {size}));
  OXBOW_ASSIGN(norm.bias, weights.vector(name + ".bias", {size}));
  return norm;
}

// Tensors time_mix_x1, time_mix_x2 and, with a bias, time_mix_x0.
Result<LowRank> load_low_rank(WeightLoader& weights, size_t layer, char x, size_t embedding, size_t rank,
                              bool bias) {
  LowRank f;
  const auto name = [&](int part) {
    return layer_tensor(layer, fmt::format("time_mix_{}{}.weight", x, part));
  };
  OXBOW_ASSIGN(f.down, weights.matrix(name(1), embedding, rank));
  OXBOW_ASSIGN(f.up, weights.matrix(name(2), rank, embedding));
  if (bias) {
    OXBOW_ASSIGN(f.bias, weights.vector(name(0), {embedding}));
  }
  return f;
}

Result<std::unique_ptr<Mixer>> build_time_mix(WeightLoader& weights, size_t layer, size_t embedding,
                                              const Settings& s) {
  const Rwkv7Config config{embedding, s.head_size, layer == 0};
  Rwkv7Weights parts;
  const auto name = [&](std::string_view part) {
    return layer_tensor(layer, fmt::format("time_mix_{}", part));
  };
  OXBOW_ASSIGN(parts.shift, weights.vector(name("lerp_fused.weight"), {embedding, 1, 1, 6}));
  OXBOW_ASSIGN(parts.receptance, weights.matrix(name("receptance.weight"), embedding, embedding));
  OXBOW_ASSIGN(parts.key, weights.matrix(name("key.weight"), embedding, embedding));
  OXBOW_ASSIGN(parts.value, weights.matrix(name("value.weight"), embedding, embedding));
  OXBOW_ASSIGN(parts.output, weights.matrix(name("output.weight"), embedding, embedding));
  OXBOW_ASSIGN(parts.decay, load_low_rank(weights, layer, 'w', embedding, s.decay_rank, true));
  OXBOW_ASSIGN(parts.rate, load_low_rank(weights, layer, 'a', embedding, s.rate_rank, true));
  OXBOW_ASSIGN(parts.gate, load_low_rank(weights, layer, 'g', embedding, s.gate_rank, false));
  if (!config.first) {
    OXBOW_ASSIGN(parts.value_mix, load_low_rank(weights, layer, 'v', embedding, s.value_rank, true));
  }
  for (std::string_view part : {"v0.weight", "v1.weight", "v2.weight"}) {
    if (config.first) weights.ignore(name(part));  // files carry them, there is nothing to mix in
  }
  OXBOW_ASSIGN(parts.k_k, weights.vector(name("k_k.weight"), {embedding}));
  OXBOW_ASSIGN(parts.k_a, weights.vector(name("k_a.weight"), {embedding}));
  OXBOW_ASSIGN(parts.r_k, weights.vector(name("r_k.weight"), {embedding}));
  OXBOW_ASSIGN(parts.norm, weights.vector(name("ln.weight"), {embedding}));
  OXBOW_ASSIGN(parts.norm_bias, weights.vector(name("ln.bias"), {embedding}));
  return std::make_unique<Rwkv7>(config, std::move(parts));
}

Result<std::unique_ptr<FeedForward>> build_channel_mix(WeightLoader& weights, size_t layer, size_t embedding,
                                                       size_t width) {
  ChannelMixWeights parts;
  const auto name = [&](std::string_view part) {
    return layer_tensor(layer, fmt::format("channel_mix_{}.weight", part));
  };
  OXBOW_ASSIGN(parts.shift, weights.vector(name("lerp_k"), {embedding}));
  OXBOW_ASSIGN(parts.key, weights.matrix(name("key"), embedding, width));
  OXBOW_ASSIGN(parts.value, weights.matrix(name("value"), width, embedding));
  return std::make_unique<ChannelMix>(std::move(parts));
}

}  // namespace

Result<Network> build_rwkv7(Hyperparameters& hp, WeightLoader& weights) {
  Network network;
  OXBOW_ASSIGN(const size_t layers,
               build_ends(hp, weights, network, {.epsilon = "attention.layer_norm_epsilon"}));
  const size_t embedding = network.embedding;
  OXBOW_ASSIGN(const Settings s, read_settings(hp, network));
  OXBOW_ASSIGN(network.embedding_norm, load_norm(weights, "token_embd_norm", embedding));
  OXBOW_ASSIGN(network.output_norm.bias, weights.vector("output_norm.bias", {embedding}));
  network.carried_floats = embedding;
  for (size_t i = 0; i < layers; ++i) {
    Layer& layer = network.layers.emplace_back();
    OXBOW_ASSIGN(layer.mixer_norm, load_norm(weights, layer_tensor(i, "attn_norm"), embedding));
    OXBOW_ASSIGN(layer.mixers.emplace_back(), build_time_mix(weights, i, embedding, s));
    OXBOW_ASSIGN(layer.feed_forward_norm, load_norm(weights, layer_tensor(i, "attn_norm_2"), embedding));
    OXBOW_ASSIGN(layer.feed_forwards.emplace_back(), build_channel_mix(weights, i, embedding, s.width));
  }
  return network;
}

std::vector<TinyModel> tiny_models_rwkv7() {
  return {{.name = "low_rank",
           .settings = {{"block_count", 2},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_epsilon", 1e-5},
                        {"feed_forward_length", 48},
                        {"wkv.head_size", 16},
                        {"attention.decay_lora_rank", 6},
                        {"attention.iclr_lora_rank", 10},
                        {"attention.value_residual_mix_lora_rank", 5},
                        {"attention.gate_lora_rank", 32}},
           .ranges = {{"time_mix_lerp_fused.weight", 0.0f, 1.0f},
                      {"channel_mix_lerp_k.weight", 0.0f, 1.0f},
                      {"time_mix_w0.weight", -6.0f, 1.0f},
                      {"time_mix_k_k.weight", 0.7f, 1.0f},
                      {"time_mix_k_a.weight", 0.8f, 1.2f}}}};
}

}  // namespace oxbow::model
