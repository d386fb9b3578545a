// LFM2: gated short convolutions with a few attention layers among them; the feed-forwards after the leading
// dense layers may be experts with a sigmoid router.

#include "model/architectures/lfm2.h"

#include "model/architectures.h"
#include "model/builder.h"
#include "model/mixers/short_conv.h"

namespace oxbow::model {
namespace {

Result<std::unique_ptr<Mixer>> build_short_conv(WeightLoader& weights, size_t layer, size_t embedding,
                                                size_t taps) {
  ShortConvWeights parts;
  const auto name = [&](std::string_view part) { return layer_tensor(layer, part); };
  OXBOW_ASSIGN(parts.in, weights.matrix(name("shortconv.in_proj.weight"), embedding, 3 * embedding));
  OXBOW_ASSIGN(parts.conv, load_taps(weights, name("shortconv.conv.weight"), taps, embedding));
  OXBOW_ASSIGN(parts.out, weights.matrix(name("shortconv.out_proj.weight"), embedding, embedding));
  return std::make_unique<ShortConv>(embedding, taps, std::move(parts));
}

Result<std::unique_ptr<Mixer>> build_layer_attention(Hyperparameters& hp, WeightLoader& weights, size_t layer,
                                                     size_t heads, size_t kv_heads, Network& network) {
  OXBOW_ASSIGN(AttentionConfig attention, read_attention(hp, network, heads, kv_heads));
  attention.head_norms = true;
  OXBOW_ASSIGN(const RopeConfig rope, read_rope(hp, attention.head_dim_k, kernels::RopeStyle::kNeox));
  attention.rope = network.add_rope(rope);
  return build_attention(weights, layer, attention, network);
}

}  // namespace

Result<Network> build_lfm2(Hyperparameters& hp, WeightLoader& weights) {
  Network network;
  OXBOW_ASSIGN(const size_t layers,
               build_ends(hp, weights, network, {.output_norm = "token_embd_norm.weight"}));
  OXBOW_ASSIGN(const size_t width, hp.positive("feed_forward_length"));
  OXBOW_ASSIGN(const LayerHeads heads, read_heads(hp, layers));
  OXBOW_ASSIGN(const size_t taps, read_taps(hp, "shortconv.l_cache"));
  if (taps < 2)
    return fail(ErrorKind::kInvalidInput, "{} is 1, expected at least 2", hp.key("shortconv.l_cache"));
  OXBOW_ASSIGN(const ExpertsConfig experts, read_experts(hp, network, 2));
  OXBOW_ASSIGN(const size_t leading_dense, hp.size_or("leading_dense_block_count", 0));
  OXBOW_ASSIGN(const size_t expert_width, hp.size_or("expert_feed_forward_length", 0));
  if (experts.experts > 0 && expert_width == 0) {
    return fail(ErrorKind::kInvalidInput, "{} is 0 in a model with experts",
                hp.key("expert_feed_forward_length"));
  }
  for (size_t i = 0; i < layers; ++i) {
    Layer& layer = network.layers.emplace_back();
    OXBOW_ASSIGN(layer.mixer_norm, weights.vector(layer_tensor(i, "attn_norm.weight"), {network.embedding}));
    if (heads.kv_heads[i] == 0) {
      OXBOW_ASSIGN(layer.mixers.emplace_back(), build_short_conv(weights, i, network.embedding, taps));
    } else {
      OXBOW_ASSIGN(layer.mixers.emplace_back(),
                   build_layer_attention(hp, weights, i, heads.heads[i], heads.kv_heads[i], network));
    }
    OXBOW_ASSIGN(layer.feed_forward_norm,
                 weights.vector(layer_tensor(i, "ffn_norm.weight"), {network.embedding}));
    if (experts.experts > 0 && i >= leading_dense) {
      OXBOW_ASSIGN(layer.feed_forwards.emplace_back(), build_experts(weights, i, experts, expert_width));
    } else {
      OXBOW_ASSIGN(layer.feed_forwards.emplace_back(), build_dense(weights, i, network.embedding, width));
    }
  }
  return network;
}

std::vector<TinyModel> tiny_models_lfm2() {
  return {{.name = "dense",
           .settings = {{"block_count", 3},
                        {"context_length", 256},
                        {"embedding_length", 32},
                        {"attention.layer_norm_rms_epsilon", 1e-5},
                        {"attention.head_count", 4},
                        {"attention.head_count_kv", {0, 2, 0}},
                        {"shortconv.l_cache", 3},
                        {"feed_forward_length", 48}}}};
}

}  // namespace oxbow::model
