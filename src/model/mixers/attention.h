#pragma once
// Grouped-query attention (Ainslie et al. 2023): query head h uses K/V head h / (heads / kv_heads).

#include <optional>
#include <vector>

#include "model/matrix.h"
#include "model/mixer.h"
#include "model/mixers/key_values.h"

namespace oxbow::model {

struct AttentionConfig {
  size_t embedding = 0;
  size_t heads = 0;
  size_t kv_heads = 0;
  size_t head_dim_k = 0;
  size_t head_dim_v = 0;
  float scale = 1.0f;
  size_t window_tokens = 0;
  std::optional<size_t> rope;  // index of the model's rope configuration; none: positions are not encoded
  bool head_norms = false;     // RMS norm of each query and key head before rope
  float norm_epsilon = 0.0f;
  bool gated =
      false;  // q yields, per head, the query and a gate; the head's output is multiplied by its sigmoid

  size_t query_outputs() const { return heads * head_dim_k * (gated ? 2 : 1); }
  HeadShape shape() const { return {heads, kv_heads, head_dim_k, head_dim_v, window_tokens, scale}; }
};

struct AttentionWeights {
  Matrix q;  // [embedding] -> query_outputs()
  Matrix k;
  Matrix v;
  Matrix output;              // heads * head_dim_v -> [embedding]
  std::vector<float> q_norm;  // with head norms: [head_dim_k] for all heads, or [heads, head_dim_k]
  std::vector<float> k_norm;
};

class Attention final : public Mixer {
 public:
  Attention(const AttentionConfig& config, AttentionWeights weights, const std::vector<RopeConfig>& ropes);

  memory::StateSpec state_spec() const override;
  char letter() const override { return config_.window_tokens > 0 ? 'W' : 'A'; }
  size_t weight_bytes() const override;
  size_t scratch_bytes(size_t rows, int threads) const override;
  void run(const StepContext& context, size_t spec, const float* x, float* y) const override;

 private:
  struct Buffers;
  Buffers carve(Carver& carver, size_t rows, int threads) const;
  void project(const StepContext& context, const float* x, const Buffers& buffers) const;
  void split_gates(const StepContext& context, const Buffers& buffers) const;
  void place_heads(const StepContext& context, float* heads, size_t head_count,
                   const std::vector<float>& norm) const;
  void apply_gates(const StepContext& context, const Buffers& buffers) const;

  AttentionConfig config_;
  AttentionWeights weights_;
  RopeConfig rope_;
};

}  // namespace oxbow::model
