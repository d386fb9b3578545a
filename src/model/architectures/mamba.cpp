// Mamba-1 (Gu & Dao 2023) and Falcon-Mamba: recurrent layers only, no feed-forward.

#include "model/architectures.h"
#include "model/builder.h"

namespace oxbow::model {

Result<Network> build_mamba(Hyperparameters& hp, WeightLoader& weights) {
  Network network;
  OXBOW_ASSIGN(const size_t layers, build_ends(hp, weights, network));
  hp.ignore("attention.head_count");
  hp.ignore("feed_forward_length");
  OXBOW_ASSIGN(const Mamba1Config mamba, read_mamba1(hp, network));
  for (size_t i = 0; i < layers; ++i) {
    Layer& layer = network.layers.emplace_back();
    OXBOW_ASSIGN(layer.mixer_norm, weights.vector(layer_tensor(i, "attn_norm.weight"), {network.embedding}));
    OXBOW_ASSIGN(layer.mixers.emplace_back(), build_mamba1(weights, i, mamba));
  }
  return network;
}

}  // namespace oxbow::model
