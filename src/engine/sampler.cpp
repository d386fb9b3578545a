#include "engine/sampler.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"

namespace oxbow::engine {
namespace {

void penalize(std::span<float> logits, std::span<const TokenId> recent, const SamplerSettings& settings) {
  if (settings.repeat_penalty == 1.0f) return;
  std::vector<TokenId> seen(recent.last(std::min(recent.size(), settings.repeat_last_n)).begin(),
                            recent.end());
  std::ranges::sort(seen);
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (const TokenId token : seen) {
    if (token < 0 || static_cast<size_t>(token) >= logits.size()) continue;
    float& logit = logits[static_cast<size_t>(token)];
    logit = logit > 0.0f ? logit / settings.repeat_penalty : logit * settings.repeat_penalty;
  }
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
  return {};
}

Sampler::Sampler(const SamplerSettings& settings) : settings_(settings), random_(settings.seed) {}

TokenId Sampler::sample(std::span<const float> logits, std::span<const TokenId> recent) {
  if (settings_.temperature == 0.0f) return greedy(logits, recent);
  collect(logits, recent);
  if (candidates_.empty()) return 0;
  keep_top_p();
  keep_min_p();
  return draw();
}

TokenId Sampler::greedy(std::span<const float> logits, std::span<const TokenId> recent) {
  if (settings_.repeat_penalty != 1.0f) {
    penalized_.assign(logits.begin(), logits.end());
    penalize(penalized_, recent, settings_);
    logits = penalized_;
  }
  size_t best = 0;
  for (size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[best] || std::isnan(logits[best])) best = i;
  }
  return std::isnan(logits[best]) ? 0 : static_cast<TokenId>(best);
}

// The top-k candidates, most likely first.
void Sampler::collect(std::span<const float> logits, std::span<const TokenId> recent) {
  penalized_.assign(logits.begin(), logits.end());
  penalize(penalized_, recent, settings_);
  candidates_.clear();
  for (size_t i = 0; i < penalized_.size(); ++i) {
    if (std::isfinite(penalized_[i])) candidates_.push_back({penalized_[i], static_cast<TokenId>(i)});
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

}  // namespace oxbow::engine
