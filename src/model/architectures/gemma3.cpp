// Gemma 3: windowed attention with every sixth layer global, norms before and after both halves of a layer.

#include <cmath>

#include "model/architectures.h"
#include "model/builder.h"

namespace oxbow::model {
namespace {

// Whether each layer sees a window only: every n-th layer is global, or an array says it layer by layer.
Result<std::vector<bool>> read_windowed(Hyperparameters& hp, size_t layers) {
  constexpr std::string_view kKey = "attention.sliding_window_pattern";
  if (hp.is_array(kKey)) return hp.layer_flags(kKey, layers);
  OXBOW_ASSIGN(const size_t period, hp.size_or(kKey, 6));
  std::vector<bool> windowed(layers);
  for (size_t i = 0; i < layers; ++i) windowed[i] = period > 0 && i % period + 1 < period;
  return windowed;
}

}  // namespace

Result<Network> build_gemma3(Hyperparameters& hp, WeightLoader& weights) {
  // The largest model scales queries by the width of a head's equal share instead of its key's.
  constexpr size_t kLayersOf27B = 62;
  Network network;
  OXBOW_ASSIGN(const size_t layers, build_ends(hp, weights, network));
  OXBOW_ASSIGN(const size_t width, hp.positive("feed_forward_length"));
  OXBOW_ASSIGN(const size_t heads, hp.positive("attention.head_count"));
  OXBOW_ASSIGN(const size_t kv_heads, hp.size_or("attention.head_count_kv", heads));
  OXBOW_ASSIGN(AttentionConfig attention, read_attention(hp, network, heads, kv_heads));
  attention.head_norms = true;
  if (layers == kLayersOf27B) {
    attention.scale = 1.0f / std::sqrt(static_cast<float>(network.embedding / heads));
  }
  OXBOW_ASSIGN(const size_t window, hp.size_or("attention.sliding_window", 0));
  OXBOW_ASSIGN(const std::vector<bool> windowed, read_windowed(hp, layers));
  OXBOW_ASSIGN(const RopeConfig global_rope, read_rope(hp, attention.head_dim_k, kernels::RopeStyle::kNeox));
  RopeConfig local_rope = global_rope;
  OXBOW_ASSIGN(local_rope.frequency_base, hp.real_or("rope.freq_base_swa", 10000.0));
  if (!(local_rope.frequency_base > 0.0)) {
    return fail(ErrorKind::kInvalidInput, "{} is {}, expected a positive number",
                hp.key("rope.freq_base_swa"), local_rope.frequency_base);
  }
  local_rope.position_scale = 1.0;
  network.embedding_scale = std::sqrt(static_cast<float>(network.embedding));

  for (size_t i = 0; i < layers; ++i) {
    const bool local = window > 0 && windowed[i];
    attention.window_tokens = local ? window : 0;
    attention.rope = network.add_rope(local ? local_rope : global_rope);
    Layer& layer = network.layers.emplace_back();
    const auto norm = [&](std::string_view name) {
      return weights.vector(layer_tensor(i, name), {network.embedding});
    };
    OXBOW_ASSIGN(layer.mixer_norm, norm("attn_norm.weight"));
    OXBOW_ASSIGN(layer.mixers.emplace_back(), build_attention(weights, i, attention, network));
    OXBOW_ASSIGN(layer.mixer_post_norm, norm("post_attention_norm.weight"));
    OXBOW_ASSIGN(layer.feed_forward_norm, norm("ffn_norm.weight"));
    OXBOW_ASSIGN(layer.feed_forwards.emplace_back(),
                 build_dense(weights, i, network.embedding, width, Activation::kGelu));
    OXBOW_ASSIGN(layer.feed_forward_post_norm, norm("post_ffw_norm.weight"));
  }
  return network;
}

std::vector<TinyModel> tiny_models_gemma3() {
  return {{.name = "windows",
           .settings = {{"block_count", 3},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"attention.head_count", 2},
                        {"attention.head_count_kv", 1},
                        {"attention.key_length", 16},
                        {"attention.value_length", 16},
                        {"feed_forward_length", 40},
                        {"attention.sliding_window", 20},
                        {"attention.sliding_window_pattern", 3},
                        {"rope.scaling.type", "linear"},
                        {"rope.scaling.factor", 8.0},
                        {"rope.freq_base", 1e6}}}};
}

}  // namespace oxbow::model
