#include "text/stop_text.h"

#include <algorithm>
#include <utility>

namespace oxbow::text {

StopText::StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
  // Of two at one place the shorter one is found first, whatever the cuts.
  std::ranges::sort(stops_, {}, &std::string::size);
}

// Whether more text could make `text` begin with a stop text.
bool StopText::may_begin(std::string_view text) const {
  return std::ranges::any_of(stops_, [&](std::string_view stop) { return stop.starts_with(text); });
}

std::string StopText::push(std::string_view text) {
  if (found_) return {};
  held_ += text;
  size_t place = 0;
  for (; place < held_.size(); ++place) {
    const std::string_view rest = std::string_view(held_).substr(place);
    const auto stop = std::ranges::find_if(stops_, [&](const auto& one) { return rest.starts_with(one); });
    if (stop != stops_.end()) {
      found_ = true;
      which_ = *stop;
      held_.resize(place);
      return std::exchange(held_, {});
    }
    if (may_begin(rest)) break;
  }
  std::string shown = held_.substr(0, place);
  held_.erase(0, place);
  return shown;
}

std::string StopText::flush() {
  return std::exchange(held_, {});
}

}  // namespace oxbow::text
