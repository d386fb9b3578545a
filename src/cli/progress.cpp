#include "cli/progress.h"

#include "cli/statistics.h"

namespace oxbow::cli {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};  // also how long work may take before the line appears

}  // namespace

void Progress::update(size_t done, size_t total) {
  const auto now = Clock::now();
  if (!started_) {
    started_ = true;
    start_ = last_drawn_ = now;
    started_at_ = done;
    next_tenth_ = total > 0 ? done * 10 / total + 1 : 1;
  }
  const State state{done, total, started_at_, std::chrono::duration<double>(now - start_).count()};
  if (console_.stderr_is_terminal()) {
    if (now - last_drawn_ < kRedraw) return;
    last_drawn_ = now;
    console_.status(format_(state));
  } else if (console_.verbosity() > 0 && total > 0 && done * 10 / total >= next_tenth_) {
    next_tenth_ = done * 10 / total + 1;
    console_.say("{}", format_(state));
  }
}

std::string format_load(const Progress::State& state) {
  std::string text =
      fmt::format("load {}/{} {:3}%", format_bytes(state.done), format_bytes(state.total), state.percent());
  const double rate = state.rate();
  if (rate > 0) {
    text += fmt::format(" {}/s, {} left", format_bytes(static_cast<uint64_t>(rate)),
                        format_seconds(static_cast<double>(state.total - state.done) / rate));
  }
  return text;
}

std::string format_prompt(const Progress::State& state) {
  std::string text = fmt::format("prompt {}/{} tok {:3}%", format_count(state.done),
                                 format_count(state.total), state.percent());
  if (state.rate() > 0) text += fmt::format(" {} t/s", format_rate(state.rate()));
  if (state.started_at > 0) text += fmt::format("  ({} cached)", format_count(state.started_at));
  return text;
}

}  // namespace oxbow::cli
