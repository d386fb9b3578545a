#pragma once
// Mamba-2 (Dao & Gu 2024): one gated linear recurrence per head behind a short causal convolution.

#include <vector>

#include "model/matrix.h"
#include "model/mixer.h"
#include "model/mixers/recurrence.h"

namespace oxbow::model {

struct Mamba2Config {
  size_t embedding = 0;
  size_t inner = 0;  // heads * head_dim
  size_t heads = 0;
  size_t groups = 0;  // head h reads B and C of group h / (heads / groups)
  size_t state = 0;
  size_t conv_taps = 0;
  float norm_epsilon = 0.0f;

  size_t head_dim() const { return inner / heads; }
  size_t channels() const { return inner + 2 * groups * state; }  // what the convolution sees: x, B, C
  size_t row_floats() const { return channels() + heads; }        // and dt behind it
};

struct Mamba2Weights {
  Matrix in;                // [embedding] -> z (inner), x (inner), B, C (groups * state each), dt (heads)
  std::vector<float> conv;  // [taps, channels], oldest tap first
  std::vector<float> conv_bias;  // [channels] or empty
  std::vector<float> dt_bias;    // [heads]
  std::vector<float> a;          // [heads], negative
  std::vector<float> d;          // [heads]
  std::vector<float> norm;       // [inner] or empty
  Matrix out;
};

// State: convolution inputs of the last taps - 1 tokens [taps - 1, channels], then the heads' states
// (kernels.h). Log row: the raw outputs of `in` for x, B, C and dt.
class Mamba2 final : public Mixer {
 public:
  Mamba2(const Mamba2Config& config, Mamba2Weights weights);

  memory::StateSpec state_spec() const override;
  char letter() const override { return 'M'; }
  size_t weight_bytes() const override;
  size_t scratch_bytes(size_t rows, int threads) const override;
  void run(const StepContext& context, size_t spec, const float* x, float* y) const override;

 private:
  struct Buffers;
  Buffers carve(Carver& carver, size_t rows) const;
  // Runs convolution and recurrence of all segments over their tokens. `tokens` is their sum.
  void advance(const StepContext& context, const Buffers& buffers, std::span<const Segment> segments,
               size_t tokens) const;
  void convolve_token(const StepContext& context, const Buffers& buffers, const Segment& segment,
                      size_t token) const;
  void scan_head(const StepContext& context, const Buffers& buffers, const Segment& segment, size_t head,
                 size_t begin, size_t end) const;

  Mamba2Config config_;
  Mamba2Weights weights_;
  Recurrence recurrence_;
};

}  // namespace oxbow::model
