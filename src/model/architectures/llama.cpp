// Llama (Touvron et al. 2023): attention with rope and SwiGLU; the attention-only baseline.

#include <cmath>

#include "model/architectures.h"
#include "model/builder.h"

namespace oxbow::model {

Result<Network> build_llama(Hyperparameters& hp, WeightLoader& weights) {
  Network network;
  OXBOW_ASSIGN(const size_t layers, build_ends(hp, weights, network));
  OXBOW_ASSIGN(const size_t width, hp.positive("feed_forward_length"));
  OXBOW_ASSIGN(const size_t heads, hp.positive("attention.head_count"));
  OXBOW_ASSIGN(const size_t kv_heads, hp.size_or("attention.head_count_kv", heads));
  OXBOW_ASSIGN(const size_t head_dim, hp.size_or("attention.key_length", network.embedding / heads));
  OXBOW_ASSIGN(const size_t head_dim_v, hp.size_or("attention.value_length", head_dim));
  AttentionConfig attention{network.embedding,
                            heads,
                            kv_heads,
                            head_dim,
                            head_dim_v,
                            1.0f / std::sqrt(static_cast<float>(head_dim)),
                            0,
                            std::nullopt};
  OXBOW_TRY(check_heads(hp, attention));
  OXBOW_ASSIGN(const RopeConfig rope, read_rope(hp, head_dim, kernels::RopeStyle::kNorm));
  attention.rope = network.add_rope(rope);

  for (size_t i = 0; i < layers; ++i) {
    Layer& layer = network.layers.emplace_back();
    OXBOW_ASSIGN(layer.mixer_norm, weights.vector(layer_tensor(i, "attn_norm.weight"), {network.embedding}));
    OXBOW_ASSIGN(layer.mixers.emplace_back(), build_attention(weights, i, attention, network));
    OXBOW_ASSIGN(layer.feed_forward_norm,
                 weights.vector(layer_tensor(i, "ffn_norm.weight"), {network.embedding}));
    OXBOW_ASSIGN(layer.feed_forwards.emplace_back(), build_dense(weights, i, network.embedding, width));
  }
  return network;
}

std::vector<TinyModel> tiny_models_llama() {
  return {{.name = "tied",
           .settings = {{"block_count", 2},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"attention.head_count", 4},
                        {"attention.head_count_kv", 2},
                        {"attention.key_length", 16},
                        {"attention.value_length", 16},
                        {"feed_forward_length", 48}}}};
}

}  // namespace oxbow::model
