#pragma once
// Grouped-query attention (Ainslie et al. 2023): query head h uses K/V head h / (heads / kv_heads).

#include <optional>

#include "model/matrix.h"
#include "model/mixer.h"

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
};

struct AttentionWeights {
  Matrix q;  // [embedding] -> heads * head_dim_k
  Matrix k;
  Matrix v;
  Matrix output;  // heads * head_dim_v -> [embedding]
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
  void rotate(const StepContext& context, float* heads, size_t stride, size_t head_count) const;
  void store(const StepContext& context, const memory::AttentionView& view, const Buffers& buffers) const;
  void attend(const StepContext& context, const memory::AttentionView& view, const Buffers& buffers) const;

  AttentionConfig config_;
  AttentionWeights weights_;
  RopeConfig rope_;
};

}  // namespace oxbow::model
