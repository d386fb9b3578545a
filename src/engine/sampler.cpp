#include "engine/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/kernels.h"

namespace oxbow::engine {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

TokenId first_allowed(std::span<const uint32_t> mask) {
  for (size_t word = 0; word < mask.size(); ++word) {
    if (mask[word] != 0)
      return static_cast<TokenId>(word * 32 + static_cast<size_t>(std::countr_zero(mask[word])));
  }
  return 0;
}

void apply_mask(std::span<const uint32_t> mask, std::span<float> logits) {
  for (size_t i = 0; i < logits.size(); ++i) {
    const bool allowed = i / 32 < mask.size() && (mask[i / 32] >> (i % 32) & 1) != 0;
    if (!allowed) logits[i] = kNever;
  }
}

// The most likely token; none when no logit is finite.
std::optional<TokenId> greedy(std::span<const float> logits) {
  size_t best = 0;
  for (size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[best] || std::isnan(logits[best])) best = i;
  }
  if (!std::isfinite(logits[best])) return std::nullopt;
  return static_cast<TokenId>(best);
}

template <typename T>
void read(const gguf::File& file, const char* key, T& value) {
  const auto number = file.find_float(key);
  const auto integer = file.find_int(key);
  if (number && *number && std::isfinite(**number) && **number >= 0) {
    value = static_cast<T>(**number);
  } else if (integer && *integer && **integer >= 0) {
    value = static_cast<T>(**integer);
  }
}

}  // namespace

SamplerSettings SamplerSettings::from_file(const gguf::File& file) {
  SamplerSettings settings;
  SamplerSettings given = settings;
  read(file, "general.sampling.temp", given.temperature);
  read(file, "general.sampling.top_k", given.top_k);
  read(file, "general.sampling.top_p", given.top_p);
  read(file, "general.sampling.min_p", given.min_p);
  read(file, "general.sampling.penalty_repeat", given.repeat_penalty);
  read(file, "general.sampling.penalty_last_n", given.repeat_last_n);
  return given.check() ? given : settings;
}

Status SamplerSettings::check() const {
  if (!(temperature >= 0.0f && temperature <= 100.0f)) {
    return fail(ErrorKind::kInvalidInput, "the temperature is {}, expected 0 to 100", temperature);
  }
  if (!(top_p >= 0.0f && top_p <= 1.0f))
    return fail(ErrorKind::kInvalidInput, "top-p is {}, expected 0 to 1", top_p);
  if (!(min_p >= 0.0f && min_p <= 1.0f))
    return fail(ErrorKind::kInvalidInput, "min-p is {}, expected 0 to 1", min_p);
  if (!(repeat_penalty > 0.0f && repeat_penalty <= 100.0f)) {
    return fail(ErrorKind::kInvalidInput, "the repeat penalty is {}, expected more than 0 and at most 100",
                repeat_penalty);
  }
  for (const auto& [name, value] :
       {std::pair("presence", presence_penalty), std::pair("frequency", frequency_penalty)}) {
    if (!(value >= -100.0f && value <= 100.0f))
      return fail(ErrorKind::kInvalidInput, "the {} penalty is {}, expected -100 to 100", name, value);
  }
  return {};
}

Sampler::Sampler(const SamplerSettings& settings) : settings_(settings), random_(settings.seed) {}

TokenId Sampler::choose(std::span<const float> logits, const SampleContext& context) {
  logits = adjust(logits, context);
  if (settings_.temperature == 0.0f) return greedy(logits).value_or(first_allowed(context.mask));
  collect(logits);
  if (candidates_.empty()) return first_allowed(context.mask);
  keep_top_p();
  keep_min_p();
  return draw();
}

std::span<const float> Sampler::adjust(std::span<const float> logits, const SampleContext& context) {
  const bool repeat = settings_.repeat_penalty != 1.0f && !context.recent.empty();
  const bool count = (settings_.presence_penalty != 0.0f || settings_.frequency_penalty != 0.0f) &&
                     !context.generated.empty();
  if (!repeat && !count && context.bias.empty() && context.mask.empty()) return logits;
  adjusted_.assign(logits.begin(), logits.end());
  if (!context.mask.empty()) apply_mask(context.mask, adjusted_);
  for (const LogitBias& bias : context.bias) {
    const auto token = static_cast<size_t>(bias.token);
    if (bias.token >= 0 && token < adjusted_.size()) adjusted_[token] += bias.bias;
  }
  counts_.resize(adjusted_.size());
  if (repeat)
    apply_repeat_penalty(context.recent.last(std::min(context.recent.size(), settings_.repeat_last_n)));
  if (count) apply_count_penalties(context.generated);
  return adjusted_;
}

// Once for each token, however often it stands there.
void Sampler::apply_repeat_penalty(std::span<const TokenId> recent) {
  for (const TokenId token : recent) {
    const auto i = static_cast<size_t>(token);
    if (token < 0 || i >= adjusted_.size() || counts_[i]++ > 0) continue;
    float& logit = adjusted_[i];
    logit = logit > 0.0f ? logit / settings_.repeat_penalty : logit * settings_.repeat_penalty;
  }
  for (const TokenId token : recent) {
    if (token >= 0 && static_cast<size_t>(token) < counts_.size()) counts_[static_cast<size_t>(token)] = 0;
  }
}

void Sampler::apply_count_penalties(std::span<const TokenId> generated) {
  for (const TokenId token : generated) {
    if (token >= 0 && static_cast<size_t>(token) < counts_.size()) ++counts_[static_cast<size_t>(token)];
  }
  for (const TokenId token : generated) {
    const auto i = static_cast<size_t>(token);
    if (token < 0 || i >= counts_.size() || counts_[i] == 0) continue;
    adjusted_[i] -= static_cast<float>(counts_[i]) * settings_.frequency_penalty + settings_.presence_penalty;
    counts_[i] = 0;
  }
}

// The top-k candidates, most likely first.
void Sampler::collect(std::span<const float> logits) {
  candidates_.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isfinite(logits[i])) candidates_.push_back({logits[i], static_cast<TokenId>(i)});
  }
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
  };
  const size_t keep =
      settings_.top_k == 0 ? candidates_.size() : std::min(settings_.top_k, candidates_.size());
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<ptrdiff_t>(keep),
                    candidates_.end(), better);
  candidates_.resize(keep);
}

void Sampler::fill_probabilities(float temperature) {
  probabilities_.clear();
  for (const Candidate& candidate : candidates_) probabilities_.push_back(candidate.logit / temperature);
  kernels::kernels().softmax(probabilities_.data(), probabilities_.size());
}

void Sampler::keep_top_p() {
  if (settings_.top_p >= 1.0f) return;
  fill_probabilities(1.0f);
  float sum = 0.0f;
  size_t keep = 0;
  while (keep < candidates_.size() && (keep == 0 || sum < settings_.top_p)) sum += probabilities_[keep++];
  candidates_.resize(keep);
}

void Sampler::keep_min_p() {
  if (settings_.min_p <= 0.0f) return;
  fill_probabilities(1.0f);
  size_t keep = 1;
  while (keep < candidates_.size() && probabilities_[keep] >= settings_.min_p * probabilities_[0]) ++keep;
  candidates_.resize(keep);
}

TokenId Sampler::draw() {
  fill_probabilities(settings_.temperature);
  const auto point = static_cast<float>(random_() >> 40) * 0x1p-24f;  // [0, 1), the same on every machine
  float sum = 0.0f;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    sum += probabilities_[i];
    if (point < sum) return candidates_[i].token;
  }
  return candidates_.front().token;  // rounding left the sum below the point
}

// SplitMix64 (Steele, Lea and Flood 2014), so that neighbouring seeds do not share streams.
uint64_t choice_seed(uint64_t seed, size_t choice) {
  if (choice == 0) return seed;
  uint64_t z = seed + choice * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace oxbow::engine
