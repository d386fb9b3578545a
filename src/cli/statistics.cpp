#include "cli/statistics.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace oxbow::cli {

double Statistics::answer_rate() const {
  return answer_seconds > 0 ? static_cast<double>(answer_steps) / answer_seconds : 0.0;
}

double Statistics::prompt_rate() const {
  return prompt_seconds > 0 ? static_cast<double>(prompt_tokens - reused_tokens) / prompt_seconds : 0.0;
}

std::string format_statistics(const Statistics& s) {
  std::string line = fmt::format("{} tok", format_count(s.answer_tokens));
  if (s.answer_steps > 0) line += fmt::format(" · {} t/s", format_rate(s.answer_rate()));
  line += fmt::format(" · prompt {}", format_count(s.prompt_tokens));
  if (s.reused_tokens > 0) line += fmt::format(" ({} cached)", format_count(s.reused_tokens));
  line += fmt::format(" {} t/s", format_rate(s.prompt_rate()));
  if (s.first_token_seconds > 0)
    line += fmt::format(" · first token {}", format_seconds(s.first_token_seconds));
  line += fmt::format(" · ctx {}/{}", format_kilo(s.context_used), format_kilo(s.context_size));
  return line;
}

std::string format_count(uint64_t count) {
  std::string text = fmt::format("{}", count);
  for (size_t i = text.size(); i > 3;) {
    i -= 3;
    text.insert(i, 1, ' ');
  }
  return text;
}

std::string format_kilo(uint64_t count) {
  if (count < 1024) return fmt::format("{}", count);
  const double kilo = static_cast<double>(count) / 1024.0;
  if (kilo >= 9.95 || count % 1024 == 0) return fmt::format("{:.0f}k", kilo);
  return fmt::format("{:.1f}k", kilo);
}

std::string format_bytes(uint64_t bytes) {
  static constexpr std::array<std::string_view, 5> kUnits = {"bytes", "KB", "MB", "GB", "TB"};
  if (bytes < 1024) return bytes == 1 ? "1 byte" : fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, value < 9.95 ? 1 : 0, kUnits[unit]);
}

std::string format_rate(double per_second) {
  if (per_second >= 99.95) return format_count(static_cast<uint64_t>(per_second + 0.5));
  return fmt::format("{:.{}f}", per_second, per_second < 0.995 ? 2 : 1);
}

std::string format_seconds(double seconds) {
  if (seconds < 0.995) return fmt::format("{:.2f} s", seconds);
  if (seconds < 99.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<uint64_t>(seconds + 0.5);
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

}  // namespace oxbow::cli
