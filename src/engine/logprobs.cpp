#include "engine/logprobs.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"
#include "kernels/scalar_math.h"

namespace oxbow::engine {

void Logprobs::read(std::span<const float> logits) {
  logits_ = logits;
  float highest = -std::numeric_limits<float>::infinity();
  for (const float logit : logits)
    if (std::isfinite(logit)) highest = std::max(highest, logit);
  exponentials_.clear();
  for (const float logit : logits)
    if (std::isfinite(logit)) exponentials_.push_back(logit - highest);
  if (exponentials_.empty()) {
    log_sum_ = 0;
    return;
  }
  kernels::kernels().exp_scaled(exponentials_.data(), 1.0f, exponentials_.size(), exponentials_.data());
  double sum = 0;
  for (const float value : exponentials_) sum += static_cast<double>(value);
  log_sum_ = static_cast<double>(highest) + kernels::log_double(sum);
}

float Logprobs::of(TokenId token) const {
  const float logit = logits_[static_cast<size_t>(token)];
  if (!std::isfinite(logit)) return kLowest;
  return std::max(kLowest, static_cast<float>(static_cast<double>(logit) - log_sum_));
}

std::span<const TokenLogprob> Logprobs::top(size_t count) {
  // A heap of the best so far, the worst of them in front.
  const auto better = [](const TokenLogprob& a, const TokenLogprob& b) {
    return a.logprob > b.logprob || (a.logprob == b.logprob && a.token < b.token);
  };
  top_.clear();
  if (count == 0) return top_;
  for (size_t i = 0; i < logits_.size(); ++i) {
    if (!std::isfinite(logits_[i])) continue;
    const TokenLogprob one{static_cast<TokenId>(i), logits_[i]};
    if (top_.size() == count) {
      if (!better(one, top_.front())) continue;
      std::ranges::pop_heap(top_, better);
      top_.pop_back();
    }
    top_.push_back(one);
    std::ranges::push_heap(top_, better);
  }
  std::ranges::sort_heap(top_, better);
  for (TokenLogprob& one : top_) one.logprob = of(one.token);
  return top_;
}

}  // namespace oxbow::engine
