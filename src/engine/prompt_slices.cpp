#include "engine/prompt_slices.h"

#include <algorithm>

namespace oxbow::engine {
namespace {

constexpr double kWeight = 0.25;  // of the newest measurement

void blend(double& average, double value) {
  average = average == 0 ? value : average + kWeight * (value - average);
}

}  // namespace

size_t PromptSlices::tokens(size_t decoding, size_t limit) const {
  const double seconds = decoding > 0 ? stall_seconds_ : stall_seconds_ * kAlonePatience;
  const double affordable =
      token_seconds_ > 0 ? seconds / token_seconds_ : 2.0 * static_cast<double>(last_tokens_);
  const auto most = static_cast<double>(std::min(limit, 2 * last_tokens_));
  return std::clamp(static_cast<size_t>(std::min(affordable, most)), std::min(kLeastTokens, limit),
                    std::max<size_t>(limit, 1));
}

void PromptSlices::measure(size_t decoding, size_t prompt_tokens, double seconds) {
  if (prompt_tokens == 0) {
    blend(decode_seconds_, seconds);
    return;
  }
  const double rest = decoding > 0 ? std::max(seconds - decode_seconds_, seconds / 8) : seconds;
  blend(token_seconds_, std::max(rest / static_cast<double>(prompt_tokens), 1e-9));
  last_tokens_ = std::max({prompt_tokens, last_tokens_ * 3 / 4, kLeastTokens});  // ends of prompts are short
}

void share_fairly(std::span<const size_t> wanted, size_t budget, size_t first, std::span<size_t> given) {
  std::ranges::fill(given, size_t{0});
  for (;;) {
    size_t open = 0;
    for (size_t i = 0; i < wanted.size(); ++i) open += given[i] < wanted[i] ? 1 : 0;
    if (open == 0 || budget == 0) return;
    const size_t share = std::max<size_t>(budget / open, 1);
    for (size_t k = 0; k < wanted.size() && budget > 0; ++k) {
      const size_t i = (first + k) % wanted.size();
      const size_t more = std::min({share, wanted[i] - given[i], budget});
      given[i] += more;
      budget -= more;
    }
  }
}

}  // namespace oxbow::engine
