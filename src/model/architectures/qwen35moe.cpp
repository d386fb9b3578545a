// Qwen3.5 with experts: the same layers under another name.

#include "model/architectures.h"
#include "model/architectures/qwen35.h"

namespace oxbow::model {

Result<Network> build_qwen35moe(Hyperparameters& hp, WeightLoader& weights) {
  return build_qwen_hybrid(hp, weights, QwenHybrid::k35);
}

std::vector<TinyModel> tiny_models_qwen35moe() {
  return {{.name = "experts",
           .settings = {{"block_count", 3},
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
                        {"attention.recurrent_layers", {true, false, true}},
                        {"rope.dimension_sections", {2, 1, 1, 0}},
                        {"expert_count", 6},
                        {"expert_used_count", 3},
                        {"expert_feed_forward_length", 16},
                        {"expert_shared_feed_forward_length", 24}},
           .optional = {"ffn_gate_inp.weight", "output.weight"}}};
}

}  // namespace oxbow::model
