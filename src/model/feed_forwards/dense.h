#pragma once
// A dense feed-forward: down(activation(gate x, up x)).

#include "model/feed_forwards/activation.h"
#include "model/matrix.h"
#include "model/mixer.h"

namespace oxbow::model {

struct DenseWeights {
  Matrix gate;  // empty when the activation has no gate
  Matrix up;
  Matrix down;
  Matrix output_gate;  // empty, or [embedding] -> 1: the output is multiplied by its sigmoid
};

class Dense final : public FeedForward {
 public:
  Dense(Activation activation, DenseWeights weights)
      : activation_(activation), weights_(std::move(weights)) {}
  size_t weight_bytes() const override;
  size_t scratch_bytes(size_t rows, int threads) const override;
  void run(const StepContext& context, size_t spec, const float* x, float* y) const override;

 private:
  struct Buffers;
  Buffers carve(Carver& carver, size_t rows) const;

  Activation activation_;
  DenseWeights weights_;
};

}  // namespace oxbow::model
