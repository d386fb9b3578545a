#pragma once
// Pieces that several architecture files build in the same way.

#include <string>

#include "base/status.h"
#include "model/feed_forwards/dense.h"
#include "model/feed_forwards/experts.h"
#include "model/hyperparameters.h"
#include "model/mixers/attention.h"
#include "model/mixers/mamba1.h"
#include "model/mixers/mamba2.h"
#include "model/network.h"
#include "model/weight_loader.h"

namespace oxbow::model {

// "blk.3." + name
std::string layer_tensor(size_t layer, std::string_view name);

// Where families differ in what surrounds the layers.
struct EndNames {
  std::string_view output_norm = "output_norm.weight";
  std::string_view epsilon = "attention.layer_norm_rms_epsilon";
};
// Common keys: block_count (returned without draft blocks), context_length, embedding_length, the epsilon;
// embedding table, final norm and output head (tied to the embedding when the file has none).
Result<size_t> build_ends(Hyperparameters& hyperparameters, WeightLoader& weights, Network& network,
                          const EndNames& names = {});

// Rope keys that a model may carry: rejects scaling that this build does not compute. `head_dim` is the
// default for rope.dimension_count.
Result<RopeConfig> read_rope(Hyperparameters& hyperparameters, size_t head_dim, kernels::RopeStyle style);
// The rope keys of a family that encodes no positions, and whose files carry them all the same.
void ignore_rope(Hyperparameters& hyperparameters);
// The attention keys of a hybrid family's file that has no attention layer.
void ignore_attention(Hyperparameters& hyperparameters);

// Heads of each layer: an array or one number; attention.head_count_kv defaults to attention.head_count.
struct LayerHeads {
  std::vector<size_t> heads;
  std::vector<size_t> kv_heads;
};
Result<LayerHeads> read_heads(Hyperparameters& hyperparameters, size_t layers);
// Attention with these heads: sizes from attention.key_length and value_length (default: embedding / heads),
// scale 1 / sqrt(key size), no rope; checked.
Result<AttentionConfig> read_attention(Hyperparameters& hyperparameters, const Network& network, size_t heads,
                                       size_t kv_heads);
// Head counts and sizes that fit each other.
Status check_heads(const Hyperparameters& hyperparameters, const AttentionConfig& config);
// Tensors attn_q, attn_k, attn_v, attn_output of a layer, and attn_q_norm, attn_k_norm with head norms.
Result<std::unique_ptr<Mixer>> build_attention(WeightLoader& weights, size_t layer,
                                               const AttentionConfig& config, const Network& network);

// A size of ours that must divide another.
Status must_divide(const Hyperparameters& hyperparameters, std::string_view part, size_t part_value,
                   std::string_view whole, size_t whole_value);
// ssm.conv_kernel or the like: 1 to kMaxConvTaps.
Result<size_t> read_taps(Hyperparameters& hyperparameters, std::string_view name);
// [taps, channels] as the file has it (taps fastest), turned to one row of channels per tap, oldest first.
Result<std::vector<float>> load_taps(WeightLoader& weights, const std::string& name, size_t taps,
                                     size_t channels);

// The ssm.* keys of Mamba-2, checked against each other.
Result<Mamba2Config> read_mamba2(Hyperparameters& hyperparameters, const Network& network);
// Tensors ssm_in, ssm_conv1d, ssm_dt, ssm_a, ssm_d, ssm_norm (optional), ssm_out of a layer.
Result<std::unique_ptr<Mixer>> build_mamba2(WeightLoader& weights, size_t layer, const Mamba2Config& config);

// The ssm.* keys of Mamba-1.
Result<Mamba1Config> read_mamba1(Hyperparameters& hyperparameters, const Network& network);
// Tensors ssm_in, ssm_conv1d, ssm_x, ssm_dt, ssm_a, ssm_d, ssm_out of a layer, and the norms ssm_dt_norm,
// ssm_b_norm, ssm_c_norm when the layer has them.
Result<std::unique_ptr<Mixer>> build_mamba1(WeightLoader& weights, size_t layer, const Mamba1Config& config);

// Tensors ffn_gate (when the activation has a gate), ffn_up, ffn_down of a layer, with a suffix, for example
// "_shexp". With gated_output also ffn_gate_inp and the suffix.
Result<std::unique_ptr<FeedForward>> build_dense(WeightLoader& weights, size_t layer, size_t embedding,
                                                 size_t width, Activation activation = Activation::kSilu,
                                                 std::string_view suffix = "", bool gated_output = false);

// The expert_* keys; `experts` stays 0 when the model has none. gating is the default of
// expert_gating_func: 1 softmax, 2 sigmoid.
Result<ExpertsConfig> read_experts(Hyperparameters& hyperparameters, const Network& network,
                                   size_t gating = 1);
// Tensors ffn_gate_inp, exp_probs_b.bias (optional), ffn_{gate,up,down}_exps of a layer; ffn_gate_up_exps may
// stand for two of them, gate first. With a latent width also ffn_latent_down and ffn_latent_up.
Result<std::unique_ptr<FeedForward>> build_experts(WeightLoader& weights, size_t layer,
                                                   const ExpertsConfig& config, size_t width);

}  // namespace oxbow::model
