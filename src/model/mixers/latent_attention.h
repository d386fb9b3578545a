#pragma once
// Multi-head latent attention (DeepSeek-AI 2024) in its absorbed form: keys and values of all heads are
// projections of one short vector per token, and that vector is what is kept. Queries are brought into its
// space, and so are answers out of it.

#include <vector>

#include "model/matrix.h"
#include "model/mixer.h"
#include "model/mixers/key_values.h"

namespace oxbow::model {

struct LatentAttentionConfig {
  size_t embedding = 0;
  size_t heads = 0;
  size_t latent = 0;      // of the vector that stands for keys and values
  size_t key_own = 0;     // per head, the part of a key that comes from the latent vector
  size_t key_shared = 0;  // the part that all heads share, kept as it is
  size_t value_dim = 0;   // per head
  float scale = 1.0f;
  float norm_epsilon = 0.0f;

  size_t query_dim() const { return key_own + key_shared; }
  size_t kept() const { return latent + key_shared; }
  HeadShape shape() const { return {heads, 1, kept(), latent, 0, scale}; }
};

struct LatentAttentionWeights {
  Matrix q;                 // [embedding] -> heads * query_dim()
  Matrix compress;          // [embedding] -> latent, key_shared
  std::vector<float> norm;  // [latent]: RMS norm of the latent vector
  Matrix key_to_latent;     // `heads` matrices key_own -> latent
  Matrix latent_to_value;   // `heads` matrices latent -> value_dim
  Matrix output;            // heads * value_dim -> [embedding]
};

// Kept per token as one K/V head: key latent + key_shared, value latent.
class LatentAttention final : public Mixer {
 public:
  LatentAttention(const LatentAttentionConfig& config, LatentAttentionWeights weights)
      : config_(config), weights_(std::move(weights)) {}

  memory::StateSpec state_spec() const override { return {0, config_.shape().kv_spec()}; }
  char letter() const override { return 'L'; }
  size_t weight_bytes() const override;
  size_t scratch_bytes(size_t rows, int threads) const override;
  void run(const StepContext& context, size_t spec, const float* x, float* y) const override;

 private:
  struct Buffers;
  Buffers carve(Carver& carver, size_t rows, int threads) const;
  void project(const StepContext& context, const float* x, const Buffers& buffers) const;
  // One matrix per head: y[row, head] = w[head] x[row, head], for rows of heads input_stride floats apart,
  // and row by row y_stride for each head.
  void multiply_heads(const StepContext& context, const Matrix& w, const float* x, size_t input_stride,
                      const Buffers& buffers, float* y, size_t y_stride) const;

  LatentAttentionConfig config_;
  LatentAttentionWeights weights_;
};

}  // namespace oxbow::model
