// LFM2 with experts: the same layers under another name.

#include "model/architectures.h"
#include "model/architectures/lfm2.h"

namespace oxbow::model {

Result<Network> build_lfm2moe(Hyperparameters& hp, WeightLoader& weights) {
  return build_lfm2(hp, weights);
}

std::vector<TinyModel> tiny_models_lfm2moe() {
  return {{.name = "experts",
           .settings = {{"block_count", 3},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"attention.head_count", 2},
                        {"attention.head_count_kv", {0, 1, 0}},
                        {"attention.key_length", 16},
                        {"attention.value_length", 16},
                        {"shortconv.l_cache", 4},
                        {"feed_forward_length", 32},
                        {"leading_dense_block_count", 1},
                        {"expert_count", 6},
                        {"expert_used_count", 2},
                        {"expert_feed_forward_length", 16}},
           .optional = {"exp_probs_b.bias"}}};
}

}  // namespace oxbow::model
