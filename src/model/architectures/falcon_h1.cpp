// Falcon-H1: attention and Mamba-2 side by side in every layer, both on the same norm. All multipliers are in
// the weights.

#include "model/architectures.h"
#include "model/builder.h"

namespace oxbow::model {

Result<Network> build_falcon_h1(Hyperparameters& hp, WeightLoader& weights) {
  Network network;
  OXBOW_ASSIGN(const size_t layers, build_ends(hp, weights, network));
  OXBOW_ASSIGN(const size_t width, hp.positive("feed_forward_length"));
  OXBOW_ASSIGN(const LayerHeads heads, read_heads(hp, layers));
  OXBOW_ASSIGN(const Mamba2Config mamba, read_mamba2(hp, network));
  for (size_t i = 0; i < layers; ++i) {
    OXBOW_ASSIGN(AttentionConfig attention, read_attention(hp, network, heads.heads[i], heads.kv_heads[i]));
    OXBOW_ASSIGN(const RopeConfig rope, read_rope(hp, attention.head_dim_k, kernels::RopeStyle::kNeox));
    attention.rope = network.add_rope(rope);
    Layer& layer = network.layers.emplace_back();
    OXBOW_ASSIGN(layer.mixer_norm, weights.vector(layer_tensor(i, "attn_norm.weight"), {network.embedding}));
    OXBOW_ASSIGN(layer.mixers.emplace_back(), build_attention(weights, i, attention, network));
    OXBOW_ASSIGN(layer.mixers.emplace_back(), build_mamba2(weights, i, mamba));
    // The name has no ".weight" in these files.
    OXBOW_ASSIGN(layer.feed_forward_norm, weights.vector(layer_tensor(i, "ffn_norm"), {network.embedding}));
    OXBOW_ASSIGN(layer.feed_forwards.emplace_back(), build_dense(weights, i, network.embedding, width));
  }
  return network;
}

}  // namespace oxbow::model
