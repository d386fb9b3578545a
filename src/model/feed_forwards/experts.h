#pragma once
// Mixture of experts (Shazeer et al. 2017): each token runs through its `used` best experts.

#include <vector>

#include "model/feed_forwards/activation.h"
#include "model/matrix.h"
#include "model/mixer.h"

namespace oxbow::model {

struct ExpertsConfig {
  size_t embedding = 0;
  size_t experts = 0;
  size_t used = 0;
  size_t latent = 0;        // width on which the experts work, when it is not the embedding
  bool renormalize = true;  // the chosen weights are divided by their sum
  bool sigmoid = false;  // each expert's weight is the sigmoid of its logit instead of the softmax over all
  float weight_scale = 1.0f;
  Activation activation = Activation::kSilu;

  size_t expert_inputs() const { return latent > 0 ? latent : embedding; }
};

struct ExpertsWeights {
  Matrix router;       // [embedding] -> experts
  Matrix latent_down;  // [embedding] -> latent and back; empty without a latent width
  Matrix latent_up;
  Matrix gate;  // `experts` matrices each; empty when the activation has no gate
  Matrix up;
  Matrix down;
  std::vector<float> selection_bias;  // [experts] or empty: added to the weights while choosing only
};

// Router: weights of all experts, then the best, the lower index first among equals. Rows are grouped by
// expert, so that each expert's weights are read once per step; outputs are added in ascending rank.
class Experts final : public FeedForward {
 public:
  Experts(const ExpertsConfig& config, ExpertsWeights weights)
      : config_(config), weights_(std::move(weights)) {}
  bool has_experts() const override { return true; }
  size_t weight_bytes() const override;
  size_t scratch_bytes(size_t rows, int threads) const override;
  void run(const StepContext& context, size_t spec, const float* x, float* y) const override;

 private:
  struct Buffers;
  Buffers carve(Carver& carver, size_t rows) const;
  void route(const StepContext& context, size_t rows, const Buffers& buffers) const;
  void choose(const float* probabilities, uint32_t* chosen, float* weights) const;  // of one row
  void group(size_t rows, const Buffers& buffers) const;
  // The chosen experts' sum, on their own width: x and y are [rows, expert_inputs()].
  void run_chosen(const StepContext& context, const float* x, const Buffers& buffers, float* y) const;
  void gather(const StepContext& context, size_t rows, const float* x, const Buffers& buffers) const;
  void multiply_grouped(const StepContext& context, const Matrix& w, const kernels::Activations& x,
                        const Buffers& buffers, float* y) const;

  ExpertsConfig config_;
  ExpertsWeights weights_;
};

}  // namespace oxbow::model
