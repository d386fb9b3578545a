#pragma once
// SwiGLU (Shazeer 2020): down(silu(gate x) * up x).

#include "model/matrix.h"
#include "model/mixer.h"

namespace oxbow::model {

struct SwigluWeights {
  Matrix gate;
  Matrix up;
  Matrix down;
};

class Swiglu final : public FeedForward {
 public:
  explicit Swiglu(SwigluWeights weights) : weights_(std::move(weights)) {}
  size_t weight_bytes() const override;
  size_t scratch_bytes(size_t rows, int threads) const override;
  void run(const StepContext& context, const float* x, float* y) const override;

 private:
  struct Buffers;
  Buffers carve(Carver& carver, size_t rows) const;

  SwigluWeights weights_;
};

}  // namespace oxbow::model
