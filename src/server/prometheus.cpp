#include "server/prometheus.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace oxbow::server {
namespace {

// Backslash, quote and line break.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    c == '\n' ? out += "\\n" : out += c;
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace

void PrometheusText::family(std::string_view name, Kind kind, std::string_view help) {
  static constexpr const char* kKinds[] = {"counter", "gauge", "histogram"};
  name_ = "oxbow_" + std::string(name);
  fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name_, help, name_,
                 kKinds[static_cast<size_t>(kind)]);
}

void PrometheusText::line(std::string_view suffix, Labels labels, std::string_view bound, double value) {
  text_.append(name_).append(suffix);
  std::string list;
  for (const auto& [name, text] : labels)
    list += fmt::format("{}{}=\"{}\"", list.empty() ? "" : ",", name, escaped(text));
  if (!bound.empty()) list += fmt::format("{}le=\"{}\"", list.empty() ? "" : ",", bound);
  if (!list.empty()) text_.append("{").append(list).append("}");
  text_.append(" ").append(number(value)).append("\n");
}

void PrometheusText::sample(double value, Labels labels) {
  line("", labels, "", value);
}

void PrometheusText::histogram(std::span<const double> bounds, std::span<const uint64_t> buckets, double sum,
                               Labels labels) {
  uint64_t count = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    count += buckets[i];
    line("_bucket", labels, i < bounds.size() ? number(bounds[i]) : "+Inf", static_cast<double>(count));
  }
  line("_sum", labels, "", sum);
  line("_count", labels, "", static_cast<double>(count));
}

void PrometheusText::counter(std::string_view name, std::string_view help, double value) {
  family(name, Kind::kCounter, help);
  sample(value);
}

void PrometheusText::gauge(std::string_view name, std::string_view help, double value) {
  family(name, Kind::kGauge, help);
  sample(value);
}

}  // namespace oxbow::server
