#pragma once
// Mamba-1 (Gu & Dao 2023): one gated linear recurrence per channel behind a short causal convolution.
// PLaMo-2's has the same projections around Mamba-2's recurrence: the channels of a head share step width and
// decay.

#include <vector>

#include "model/matrix.h"
#include "model/mixer.h"
#include "model/mixers/recurrence.h"

namespace oxbow::model {

struct Mamba1Config {
  size_t embedding = 0;
  size_t inner = 0;  // channels
  size_t state = 0;
  size_t dt_rank = 0;
  size_t heads =
      0;  // that share a step width and a decay; 0: each channel has a step width and `state` decays
  size_t conv_taps = 0;
  bool norms = false;  // RMS norms of dt, B and C
  float norm_epsilon = 0.0f;

  size_t steps() const { return heads > 0 ? heads : inner; }
  size_t row_floats() const { return inner + steps() + state; }
};

struct Mamba1Weights {
  Matrix in;                // [embedding] -> x, z (inner each)
  std::vector<float> conv;  // [taps, inner], oldest tap first
  std::vector<float> conv_bias;
  Matrix x;                    // [inner] -> dt (dt_rank), B, C (state each)
  std::vector<float> dt_norm;  // [dt_rank], or empty: all ones; b_norm and c_norm [state] likewise
  std::vector<float> b_norm;
  std::vector<float> c_norm;
  Matrix dt;  // [dt_rank] -> steps()
  std::vector<float> dt_bias;
  std::vector<float> a;  // lane blocks [ceil(inner / 16), state, 16] (kernels.h), or [heads]; negative
  std::vector<float> d;  // [steps()]
  Matrix out;
};

// State: convolution inputs of the last taps - 1 tokens [taps - 1, inner], then the channels' states in lane
// blocks, or head by head. Log row: the convolution's input, dt before its bias, and B. The products that
// lead from the convolution to dt and B are not repeated in a replay.
class Mamba1 final : public Mixer {
 public:
  Mamba1(const Mamba1Config& config, Mamba1Weights weights);

  memory::StateSpec state_spec() const override;
  char letter() const override { return 'M'; }
  size_t weight_bytes() const override;
  size_t scratch_bytes(size_t rows, int threads) const override;
  void run(const StepContext& context, size_t spec, const float* x, float* y) const override;

 private:
  struct Buffers;
  Buffers carve(Carver& carver, size_t rows) const;
  void convolve(const StepContext& context, const Buffers& buffers, std::span<const Segment> segments,
                size_t tokens) const;
  void project_gates(const StepContext& context, const Buffers& buffers) const;
  void advance(const StepContext& context, const Buffers& buffers, std::span<const Segment> segments,
               size_t tokens) const;
  void scan_block(const StepContext& context, const Buffers& buffers, const Segment& segment, size_t block,
                  size_t begin, size_t end) const;
  void scan_head(const StepContext& context, const Buffers& buffers, const Segment& segment, size_t head,
                 size_t begin, size_t end) const;

  Mamba1Config config_;
  Mamba1Weights weights_;
  Recurrence recurrence_;
};

}  // namespace oxbow::model
