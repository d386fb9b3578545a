#pragma once
// How many tokens of prompts a step takes, so that sequences that decode never wait long for the next token.

#include <cstddef>
#include <span>

namespace oxbow::engine {

// Learns the cost of a prompt's token from the steps so far. What it says changes how long steps take, never
// what they compute.
class PromptSlices {
 public:
  // stall_seconds: what prompts may add to a step in which others decode.
  explicit PromptSlices(double stall_seconds) : stall_seconds_(stall_seconds) {}

  // Tokens of prompts for a step in which `decoding` sequences decode; 1 to limit.
  size_t tokens(size_t decoding, size_t limit) const;
  void measure(size_t decoding, size_t prompt_tokens, double seconds);

  static constexpr size_t kLeastTokens = 8;
  // Without decoding sequences a step may take this many times longer; new requests and cancellations wait
  // for its end.
  static constexpr double kAlonePatience = 4;

 private:
  double stall_seconds_;
  double decode_seconds_ = 0;  // of a step without prompts; 0: not known
  double token_seconds_ = 0;   // of a prompt's token; 0: not known
  size_t last_tokens_ = 16;    // slices grow at most twofold
};

// Max-min fair shares of a budget: nobody gets more than wanted, nobody gets less than another who wants as
// much, but for a remainder of single tokens, which goes to those from `first` on.
void share_fairly(std::span<const size_t> wanted, size_t budget, size_t first, std::span<size_t> given);

}  // namespace oxbow::engine
