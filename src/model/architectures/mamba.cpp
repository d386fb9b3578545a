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

std::vector<TinyModel> tiny_models_mamba() {
  return {{.name = "plain",
           .settings = {{"block_count", 2},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"ssm.inner_size", 64},
                        {"ssm.time_step_rank", 4},
                        {"ssm.state_size", 16},
                        {"ssm.conv_kernel", 4}},
           .optional = {"ssm_conv1d.bias"}},
          {.name = "norms",
           .settings = {{"block_count", 2},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"ssm.inner_size", 48},
                        {"ssm.time_step_rank", 4},
                        {"ssm.state_size", 8},
                        {"ssm.conv_kernel", 4},
                        {"ssm.dt_b_c_rms", true}},
           .optional = {"ssm_conv1d.bias", "output.weight"}}};
}

}  // namespace oxbow::model
