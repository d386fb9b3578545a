#include "cli/stop_text.h"

#include <algorithm>
#include <utility>

namespace oxbow::cli {

std::string StopText::push(std::string_view text) {
  if (found_) return {};
  held_ += text;
  if (stop_.empty()) return std::exchange(held_, {});
  const size_t place = held_.find(stop_);
  if (place != std::string::npos) {
    found_ = true;
    held_.resize(place);
    return std::exchange(held_, {});
  }
  size_t keep = std::min(held_.size(), stop_.size() - 1);
  while (keep > 0 && !held_.ends_with(std::string_view(stop_).substr(0, keep))) --keep;
  std::string shown = held_.substr(0, held_.size() - keep);
  held_.erase(0, shown.size());
  return shown;
}

std::string StopText::flush() {
  return std::exchange(held_, {});
}

}  // namespace oxbow::cli
