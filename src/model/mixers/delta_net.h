#pragma once
// Gated delta net (Yang et al. 2024): a matrix state per head that unlearns what it holds under a key before
// it stores the new value.

#include <vector>

#include "model/matrix.h"
#include "model/mixer.h"
#include "model/mixers/recurrence.h"

namespace oxbow::model {

// Where a head's inputs lie among the gate outputs of a token.
struct DeltaGates {
  std::vector<size_t> alpha;  // [value_heads]: index of its decay input
  std::vector<size_t> beta;   // [value_heads]: index of its write strength input
};

struct DeltaNetConfig {
  size_t embedding = 0;
  size_t key_heads = 0;
  size_t value_heads = 0;  // a multiple of key_heads
  size_t head_dim = 0;     // of keys and of values
  size_t conv_taps = 0;
  bool tiled_keys = false;  // value head j uses key head j % key_heads instead of j / (value / key heads)
  float norm_epsilon = 0.0f;
  DeltaGates gates;

  size_t key_width() const { return key_heads * head_dim; }
  size_t inner() const { return value_heads * head_dim; }
  size_t channels() const { return 2 * key_width() + inner(); }  // what the convolution sees: q, k, v
  size_t row_floats() const { return channels() + 2 * value_heads; }
  size_t key_head(size_t value_head) const {
    return tiled_keys ? value_head % key_heads : value_head / (value_heads / key_heads);
  }
};

struct DeltaNetWeights {
  Matrix qkv;                  // [embedding] -> q, k (key_width() each), v (inner())
  std::vector<Matrix> gates;   // together [embedding] -> 2 * value_heads, in the order of DeltaGates
  Matrix z;                    // [embedding] -> inner()
  std::vector<float> conv;     // [taps, channels()], oldest tap first
  std::vector<float> dt_bias;  // [value_heads]
  std::vector<float> a;        // [value_heads], negative
  std::vector<float> norm;     // [head_dim]
  Matrix out;
};

// State: convolution inputs of the last taps - 1 tokens, then the value heads' states (kernels.h). Log row:
// q, k, v before the convolution, and the gate outputs.
class DeltaNet final : public Mixer {
 public:
  DeltaNet(const DeltaNetConfig& config, DeltaNetWeights weights);

  memory::StateSpec state_spec() const override;
  char letter() const override { return 'D'; }
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

  DeltaNetConfig config_;
  DeltaNetWeights weights_;
  Recurrence recurrence_;
  float query_scale_;
};

}  // namespace oxbow::model
