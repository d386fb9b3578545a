#pragma once
// Pieces that several architecture files build in the same way.

#include <string>

#include "base/status.h"
#include "model/hyperparameters.h"
#include "model/mixers/attention.h"
#include "model/mixers/mamba2.h"
#include "model/network.h"
#include "model/weight_loader.h"

namespace oxbow::model {

// "blk.3." + name
std::string layer_tensor(size_t layer, std::string_view name);

// Common keys: block_count (returned), context_length, embedding_length, the epsilon; embedding table, final
// norm and output head (tied to the embedding when the file has none).
Result<size_t> build_ends(Hyperparameters& hyperparameters, WeightLoader& weights, Network& network);

// Rope keys that a model may carry: rejects scaling that this build does not compute. `head_dim` is the
// default for rope.dimension_count.
Result<RopeConfig> read_rope(Hyperparameters& hyperparameters, size_t head_dim, kernels::RopeStyle style);

// Head counts and sizes that fit each other.
Status check_heads(const Hyperparameters& hyperparameters, const AttentionConfig& config);
// Tensors attn_q, attn_k, attn_v, attn_output of a layer.
Result<std::unique_ptr<Mixer>> build_attention(WeightLoader& weights, size_t layer,
                                               const AttentionConfig& config, const Network& network);

// The ssm.* keys of Mamba-2, checked against each other.
Result<Mamba2Config> read_mamba2(Hyperparameters& hyperparameters, const Network& network);
// Tensors ssm_in, ssm_conv1d, ssm_dt, ssm_a, ssm_d, ssm_norm (optional), ssm_out of a layer.
Result<std::unique_ptr<Mixer>> build_mamba2(WeightLoader& weights, size_t layer, const Mamba2Config& config);

// Tensors ffn_gate, ffn_up, ffn_down (with a suffix, for example "_shexp") of a layer.
Result<std::unique_ptr<FeedForward>> build_swiglu(WeightLoader& weights, size_t layer, size_t embedding,
                                                  size_t width, std::string_view suffix = "");

}  // namespace oxbow::model
