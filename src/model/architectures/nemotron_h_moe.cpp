// Nemotron-H with experts: the same layers under another name.

#include "model/architectures.h"
#include "model/architectures/nemotron_h.h"

namespace oxbow::model {

Result<Network> build_nemotron_h_moe(Hyperparameters& hp, WeightLoader& weights) {
  return build_nemotron_h(hp, weights);
}

std::vector<TinyModel> tiny_models_nemotron_h_moe() {
  return {{.name = "experts",
           .settings = {{"block_count", 4},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_epsilon", 1e-5},
                        {"attention.head_count", 4},
                        {"attention.head_count_kv", {0, 0, 2, 0}},
                        {"attention.key_length", 16},
                        {"attention.value_length", 16},
                        {"ssm.inner_size", 48},
                        {"ssm.time_step_rank", 6},
                        {"ssm.state_size", 16},
                        {"ssm.conv_kernel", 4},
                        {"ssm.group_count", 2},
                        {"feed_forward_length", {0, 16, 0, 24}},
                        {"expert_count", 6},
                        {"expert_used_count", 2},
                        {"expert_feed_forward_length", 16},
                        {"expert_shared_feed_forward_length", 24},
                        {"expert_weights_scale", 2.5}},
           .optional = {"blk.1.ffn_gate_inp.weight", "exp_probs_b.bias", "ssm_conv1d.bias", "ssm_norm.weight",
                        "output.weight"}},
          {.name = "latent",
           .settings = {{"block_count", 3},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_epsilon", 1e-5},
                        {"attention.head_count", 2},
                        {"attention.head_count_kv", {0, 0, 1}},
                        {"attention.key_length", 16},
                        {"attention.value_length", 16},
                        {"ssm.inner_size", 64},
                        {"ssm.time_step_rank", 4},
                        {"ssm.state_size", 16},
                        {"ssm.conv_kernel", 4},
                        {"ssm.group_count", 1},
                        {"feed_forward_length", {0, 16, 0}},
                        {"expert_count", 4},
                        {"expert_used_count", 2},
                        {"expert_feed_forward_length", 32},
                        {"expert_shared_feed_forward_length", 32},
                        {"moe_latent_size", 32}},
           .optional = {"ffn_gate_inp.weight", "ssm_norm.weight"}}};
}

}  // namespace oxbow::model
