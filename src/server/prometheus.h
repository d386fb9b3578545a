#pragma once
// The text format of Prometheus, version 0.0.4.

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace oxbow::server {

// Writes one family after the other; every name gets the prefix oxbow_.
class PrometheusText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  enum class Kind { kCounter, kGauge, kHistogram };
  // Begins a family; the samples that follow belong to it.
  void family(std::string_view name, Kind kind, std::string_view help);
  void sample(double value, Labels labels = {});
  // Of a histogram: counts of each bucket alone, the last one above all bounds.
  void histogram(std::span<const double> bounds, std::span<const uint64_t> buckets, double sum,
                 Labels labels = {});

  // A family of one sample.
  void counter(std::string_view name, std::string_view help, double value);
  void gauge(std::string_view name, std::string_view help, double value);

  const std::string& text() const { return text_; }

 private:
  void line(std::string_view suffix, Labels labels, std::string_view bound, double value);

  std::string name_;
  std::string text_;
};

}  // namespace oxbow::server
