#pragma once
// Log-probabilities of tokens: of the model's own logits, before anything that sampling does to them.

#include <cstddef>
#include <span>
#include <vector>

#include "engine/request.h"

namespace oxbow::engine {

// Not thread safe; kept for the capacity of its buffers. The same bits on every machine.
class Logprobs {
 public:
  // Reads a row of logits: afterwards `of` and `top` answer for it. The row must stay.
  void read(std::span<const float> logits);
  // Natural logarithm of the probability; kLowest for what has none.
  float of(TokenId token) const;
  // The `count` most likely tokens, most likely first, ties to the lower id. Valid until the next call.
  std::span<const TokenLogprob> top(size_t count);

  static constexpr float kLowest = -9999.0f;  // JSON has no infinity

 private:
  std::span<const float> logits_;
  double log_sum_ = 0;  // of exp over the row
  std::vector<float> exponentials_;
  std::vector<TokenLogprob> top_;
};

}  // namespace oxbow::engine
