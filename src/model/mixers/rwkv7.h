#pragma once
// RWKV-7's time mixing (Peng et al. 2025): a matrix state per head that forgets key channel by key channel
// and unlearns along one direction before it stores the next value. Its inputs mix each token with the one
// before.

#include <array>
#include <vector>

#include "model/matrix.h"
#include "model/mixer.h"
#include "model/mixers/recurrence.h"

namespace oxbow::model {

struct Rwkv7Config {
  size_t embedding = 0;
  size_t head_size = 0;  // of keys and of values; divides the embedding
  // The first layer leaves its values to the others, which mix them into their own (StepContext::carried).
  bool first = false;

  size_t heads() const { return embedding / head_size; }
  size_t row_floats() const { return 5 * embedding; }
};

// f(x) = bias + up act(down x); the gate's has no bias.
struct LowRank {
  Matrix down;
  Matrix up;
  std::vector<float> bias;
};

struct Rwkv7Weights {
  // How much of the token before goes into the inputs of r, w, k, v, a, g: [6, embedding].
  std::vector<float> shift;
  Matrix receptance;  // [embedding] -> embedding; key, value and output likewise
  Matrix key;
  Matrix value;
  Matrix output;
  LowRank decay;
  LowRank rate;       // of learning in context, "a"
  LowRank value_mix;  // empty in the first layer
  LowRank gate;
  std::vector<float> k_k;   // [embedding]: the removal key is key * k_k, of unit length in each head
  std::vector<float> k_a;   // [embedding]: how much the rate scales the key
  std::vector<float> r_k;   // [embedding]: weights of the current token's own value
  std::vector<float> norm;  // [embedding]: layer norm of each head
  std::vector<float> norm_bias;
};

// State: the input of the last token, then the heads' states (kernels.h). Log row: the input, the key, the
// value after mixing, the decay and the rate.
class Rwkv7 final : public Mixer {
 public:
  Rwkv7(const Rwkv7Config& config, Rwkv7Weights weights);

  memory::StateSpec state_spec() const override;
  char letter() const override { return 'R'; }
  size_t weight_bytes() const override;
  size_t scratch_bytes(size_t rows, int threads) const override;
  void run(const StepContext& context, size_t spec, const float* x, float* y) const override;

 private:
  struct Buffers;
  enum Input : size_t { kReceptance, kDecay, kKey, kValue, kRate, kGate, kInputs };
  enum class Squash { kNone, kTanh, kSigmoid };
  Buffers carve(Carver& carver, size_t rows) const;
  size_t largest_rank() const;
  void project(const StepContext& context, std::span<const Segment> segments, const Buffers& buffers) const;
  void project_values(const StepContext& context, std::span<const Segment> segments,
                      const Buffers& buffers) const;
  void run_low_rank(const StepContext& context, const LowRank& f, Squash squash,
                    const kernels::Activations& input, const Buffers& buffers, float* out,
                    size_t stride) const;
  // The input of one of the six projections, for all tokens of the step.
  kernels::Activations shifted(const StepContext& context, std::span<const Segment> segments, Input input,
                               bool quantize, const Buffers& buffers) const;
  // Runs the recurrence of all segments over their tokens. `tokens` is their sum.
  void advance(const StepContext& context, const Buffers& buffers, std::span<const Segment> segments,
               size_t tokens) const;
  void prepare_token(const StepContext& context, const Buffers& buffers, const Segment& segment,
                     size_t token) const;
  void scan_head(const StepContext& context, const Buffers& buffers, const Segment& segment, size_t head,
                 size_t begin, size_t end) const;
  void finish_row(const StepContext& context, const Buffers& buffers, size_t row) const;

  Rwkv7Config config_;
  Rwkv7Weights weights_;
  Recurrence recurrence_;
};

}  // namespace oxbow::model
