#pragma once
// Chooses the next token from a row of logits.

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "gguf/file.h"
#include "memory/state_spec.h"

namespace oxbow::engine {

using memory::TokenId;

struct SamplerSettings {
  float temperature = 0.8f;  // 0: always the most likely token
  size_t top_k = 40;         // keep the k most likely; 0: all
  float top_p = 0.95f;  // keep the smallest set with this share of the probability (Holtzman et al. 2020)
  float min_p = 0.05f;  // keep tokens with at least this share of the best one's probability
  float repeat_penalty =
      1.0f;  // divides positive, multiplies negative logits of recent tokens (Keskar et al. 2019)
  size_t repeat_last_n = 64;  // how many tokens count as recent
  uint64_t seed = 0;

  // Values that the model's file recommends (general.sampling.*) over the defaults; wrong types are ignored.
  static SamplerSettings from_file(const gguf::File& file);
  // Names the first value that is out of range.
  Status check() const;
};

// The same seed and the same logits give the same tokens on every machine. Penalty, then top-k, top-p, min-p,
// then temperature. Not thread safe.
class Sampler {
 public:
  explicit Sampler(const SamplerSettings& settings);

  // recent: the tokens so far, newest last. Ties go to the lower id. Logits that are not numbers are never
  // chosen unless all are, then token 0 is.
  TokenId sample(std::span<const float> logits, std::span<const TokenId> recent);

 private:
  struct Candidate {
    float logit;
    TokenId token;
  };

  TokenId greedy(std::span<const float> logits, std::span<const TokenId> recent);
  void collect(std::span<const float> logits, std::span<const TokenId> recent);
  void keep_top_p();
  void keep_min_p();
  TokenId draw();
  void fill_probabilities(float temperature);

  SamplerSettings settings_;
  std::mt19937_64 random_;
  std::vector<float> penalized_;
  std::vector<Candidate> candidates_;
  std::vector<float> probabilities_;
};

}  // namespace oxbow::engine
