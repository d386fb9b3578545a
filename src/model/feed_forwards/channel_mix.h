#pragma once
// RWKV's channel mixing (Peng et al. 2023): a feed-forward with squared ReLU whose input mixes each token
// with the one before, which is the state it keeps.

#include <vector>

#include "model/matrix.h"
#include "model/mixer.h"
#include "model/mixers/recurrence.h"

namespace oxbow::model {

struct ChannelMixWeights {
  std::vector<float> shift;  // [embedding]: how much of the token before goes into the input
  Matrix key;                // [embedding] -> width
  Matrix value;              // width -> [embedding]
};

// State and log row: the input of a token.
class ChannelMix final : public FeedForward {
 public:
  explicit ChannelMix(ChannelMixWeights weights)
      : weights_(std::move(weights)), recurrence_(2, weights_.key.cols(), 0, 0) {}

  std::optional<memory::StateSpec> state_spec() const override;
  size_t weight_bytes() const override { return weights_.key.size_bytes() + weights_.value.size_bytes(); }
  size_t scratch_bytes(size_t rows, int threads) const override;
  void run(const StepContext& context, size_t spec, const float* x, float* y) const override;

 private:
  struct Buffers;
  Buffers carve(Carver& carver, size_t rows) const;

  ChannelMixWeights weights_;
  Recurrence recurrence_;
};

}  // namespace oxbow::model
