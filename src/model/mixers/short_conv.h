#pragma once
// The gated short convolution of LFM2: out(C * conv(B * X)) with [B, C, X] = in x.

#include <vector>

#include "model/matrix.h"
#include "model/mixer.h"
#include "model/mixers/recurrence.h"

namespace oxbow::model {

struct ShortConvWeights {
  Matrix in;                // [embedding] -> B, C, X (embedding each)
  std::vector<float> conv;  // [taps, embedding], oldest tap first
  Matrix out;
};

// State: B * X of the last taps - 1 tokens. Log row: B * X.
class ShortConv final : public Mixer {
 public:
  ShortConv(size_t embedding, size_t taps, ShortConvWeights weights);

  memory::StateSpec state_spec() const override;
  char letter() const override { return 'C'; }
  size_t weight_bytes() const override;
  size_t scratch_bytes(size_t rows, int threads) const override;
  void run(const StepContext& context, size_t spec, const float* x, float* y) const override;

 private:
  struct Buffers;
  Buffers carve(Carver& carver, size_t rows) const;
  void mix_token(const StepContext& context, const Buffers& buffers, const Segment& segment,
                 size_t token) const;

  size_t embedding_;
  size_t taps_;
  ShortConvWeights weights_;
  Recurrence recurrence_;
};

}  // namespace oxbow::model
