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
  size_t repeat_last_n = 64;       // how many tokens count as recent
  float presence_penalty = 0.0f;   // subtracted from the logits of tokens that were generated before
  float frequency_penalty = 0.0f;  // the same, for each time
  uint64_t seed = 0;

  // Values that the model's file recommends (general.sampling.*) over the defaults; wrong types are ignored.
  static SamplerSettings from_file(const gguf::File& file);
  // Names the first value that is out of range.
  Status check() const;
};

struct LogitBias {
  TokenId token = 0;
  float bias = 0;  // added to the logit; -infinity: never chosen
};

// What bears on the choice besides the logits.
struct SampleContext {
  std::span<const TokenId> recent;     // all tokens so far, newest last, for the repeat penalty
  std::span<const TokenId> generated;  // those of the answer, for the presence and frequency penalties
  std::span<const LogitBias> bias;
  std::span<const uint32_t> mask;  // bit i % 32 of word i / 32: token i may be chosen; empty: all may
};

// The same seed and the same logits give the same tokens on every machine. Mask, bias and penalties, then
// top-k, top-p, min-p, then temperature. Not thread safe.
class Sampler {
 public:
  explicit Sampler(const SamplerSettings& settings);

  // Ties go to the lower id. Logits that are not finite are never chosen unless all are, then the first token
  // that the mask allows is.
  TokenId choose(std::span<const float> logits, const SampleContext& context);
  // With the repeat penalty alone.
  TokenId sample(std::span<const float> logits, std::span<const TokenId> recent) {
    return choose(logits, {recent, {}, {}, {}});
  }

 private:
  struct Candidate {
    float logit;
    TokenId token;
  };

  // The logits after mask, bias and penalties; the given ones when nothing changes them.
  std::span<const float> adjust(std::span<const float> logits, const SampleContext& context);
  void apply_repeat_penalty(std::span<const TokenId> recent);
  void apply_count_penalties(std::span<const TokenId> generated);
  void collect(std::span<const float> logits);
  void keep_top_p();
  void keep_min_p();
  TokenId draw();
  void fill_probabilities(float temperature);

  SamplerSettings settings_;
  std::mt19937_64 random_;
  std::vector<float> adjusted_;
  std::vector<uint32_t> counts_;  // per token; zero between calls
  std::vector<Candidate> candidates_;
  std::vector<float> probabilities_;
};

// The seed of one of several answers to a prompt; that of the first is the given one.
uint64_t choice_seed(uint64_t seed, size_t choice);

}  // namespace oxbow::engine
