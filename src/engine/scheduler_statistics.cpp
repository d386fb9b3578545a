#include "engine/scheduler_statistics.h"

#include <algorithm>

namespace oxbow::engine {

void Histogram::add(double seconds) {
  const auto bucket = std::ranges::lower_bound(kBounds, seconds) - kBounds.begin();
  ++buckets_[static_cast<size_t>(bucket)];
  ++count_;
  sum_seconds_ += seconds;
}

std::string_view finish_name(FinishReason reason) {
  constexpr std::array<std::string_view, kFinishReasons> kNames = {
      "end", "stopped", "length", "memory", "cancelled", "deadline", "shutdown"};
  return kNames[static_cast<size_t>(reason)];
}

}  // namespace oxbow::engine
