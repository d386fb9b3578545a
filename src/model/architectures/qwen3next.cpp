// Qwen3-Next: the layers of Qwen3.5 with other head groups and projections.

#include "model/architectures.h"
#include "model/architectures/qwen35.h"

namespace oxbow::model {

Result<Network> build_qwen3next(Hyperparameters& hp, WeightLoader& weights) {
  return build_qwen_hybrid(hp, weights, QwenHybrid::kNext);
}

std::vector<TinyModel> tiny_models_qwen3next() {
  return {{.name = "experts",
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
                        {"expert_count", 5},
                        {"expert_used_count", 2},
                        {"expert_feed_forward_length", 32},
                        {"expert_shared_feed_forward_length", 32}},
           .optional = {"ffn_gate_inp.weight", "output.weight"}},
          {.name = "one_input",
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
                        {"feed_forward_length", 40}},
           .optional = {"ssm_in.weight"}}};
}

}  // namespace oxbow::model
