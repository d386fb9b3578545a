#pragma once
// Kimi delta attention (Kimi team 2025): a gated delta net whose state forgets key channel by key channel.

#include <vector>

#include "model/matrix.h"
#include "model/mixer.h"
#include "model/mixers/recurrence.h"

namespace oxbow::model {

struct KimiDeltaConfig {
  size_t embedding = 0;
  size_t heads = 0;
  size_t head_dim = 0;  // of keys and of values
  size_t conv_taps = 0;
  float norm_epsilon = 0.0f;

  size_t inner() const { return heads * head_dim; }
  size_t channels() const { return 3 * inner(); }                     // what the convolution sees: q, k, v
  size_t row_floats() const { return channels() + inner() + heads; }  // and decay and strength inputs
};

struct KimiDeltaWeights {
  Matrix q;  // [embedding] -> inner(), k and v likewise
  Matrix k;
  Matrix v;
  Matrix decay_down;  // [embedding] -> low rank
  Matrix decay_up;    // low rank -> inner()
  Matrix beta;        // [embedding] -> heads: write strengths
  Matrix gate_down;   // as for the decay
  Matrix gate_up;
  std::vector<float> conv;     // [taps, channels()], oldest tap first
  std::vector<float> dt_bias;  // [inner()]
  std::vector<float> a;        // [heads], negative
  std::vector<float> norm;     // [head_dim]
  Matrix out;
};

// State: convolution inputs of the last taps - 1 tokens, then the heads' states (kernels.h). Log row: q, k, v
// before the convolution, decay inputs before their bias, strength inputs.
class KimiDelta final : public Mixer {
 public:
  KimiDelta(const KimiDeltaConfig& config, KimiDeltaWeights weights);

  memory::StateSpec state_spec() const override;
  char letter() const override { return 'K'; }
  size_t weight_bytes() const override;
  size_t scratch_bytes(size_t rows, int threads) const override;
  void run(const StepContext& context, size_t spec, const float* x, float* y) const override;

 private:
  struct Buffers;
  Buffers carve(Carver& carver, size_t rows) const;
  void project(const StepContext& context, const float* x, const Buffers& buffers) const;
  // Runs convolution and recurrence of all segments over their tokens. `tokens` is their sum.
  void advance(const StepContext& context, const Buffers& buffers, std::span<const Segment> segments,
               size_t tokens) const;
  void prepare_token(const StepContext& context, const Buffers& buffers, const Segment& segment,
                     size_t token) const;
  void scan_head(const StepContext& context, const Buffers& buffers, const Segment& segment, size_t head,
                 size_t begin, size_t end) const;

  KimiDeltaConfig config_;
  KimiDeltaWeights weights_;
  Recurrence recurrence_;
  float query_scale_;
};

}  // namespace oxbow::model
