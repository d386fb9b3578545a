#include "grammar/number_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace oxbow::grammar {

namespace {

constexpr uint64_t kLargest = 9'999'999'999'999'999;         // 16 digits
constexpr uint64_t kLargestBound = 999'999'999'999'999'999;  // 18 digits
constexpr uint32_t kMaxDigits = 16;

// Strings of digits. All texts are the digits of numbers without sign.
class Digits {
 public:
  explicit Digits(Expressions& expressions) : e_(expressions) {}

  ExpressionId digit(char first, char last) {
    return first > last ? e_.nothing()
                        : e_.characters({{static_cast<char32_t>(first), static_cast<char32_t>(last)}});
  }
  ExpressionId any(uint32_t min, uint32_t max) { return e_.repeat(digit('0', '9'), min, max); }

  // As many digits as `text` has, not below or not above it.
  ExpressionId at_least(std::string_view text) {
    if (text.empty()) return e_.empty();
    const auto rest = static_cast<uint32_t>(text.size() - 1);
    std::vector<ExpressionId> ways = {e_.sequence({e_.text(text.substr(0, 1)), at_least(text.substr(1))})};
    if (text[0] < '9')
      ways.push_back(e_.sequence({digit(static_cast<char>(text[0] + 1), '9'), any(rest, rest)}));
    return e_.choice(ways);
  }
  ExpressionId at_most(std::string_view text) {
    if (text.empty()) return e_.empty();
    const auto rest = static_cast<uint32_t>(text.size() - 1);
    std::vector<ExpressionId> ways = {e_.sequence({e_.text(text.substr(0, 1)), at_most(text.substr(1))})};
    if (text[0] > '0')
      ways.push_back(e_.sequence({digit('0', static_cast<char>(text[0] - 1)), any(rest, rest)}));
    return e_.choice(ways);
  }
  // Both have the same number of digits.
  ExpressionId between(std::string_view low, std::string_view high) {
    const auto same = static_cast<size_t>(std::ranges::mismatch(low, high).in1 - low.begin());
    if (same == low.size()) return e_.text(low);
    const auto rest = static_cast<uint32_t>(low.size() - same - 1);
    const char first = low[same], last = high[same];
    const ExpressionId ways[] = {
        e_.sequence({e_.text(low.substr(same, 1)), at_least(low.substr(same + 1))}),
        e_.sequence({digit(static_cast<char>(first + 1), static_cast<char>(last - 1)), any(rest, rest)}),
        e_.sequence({e_.text(high.substr(same, 1)), at_most(high.substr(same + 1))})};
    return e_.sequence({e_.text(low.substr(0, same)), e_.choice(ways)});
  }
  // Whole numbers, without leading zeros.
  ExpressionId whole(uint64_t low, uint64_t high) {
    std::vector<ExpressionId> ways;
    for (uint64_t begin = 0, end = 9; begin <= high; begin = end + 1, end = end * 10 + 9) {
      const uint64_t from = std::max(low, begin), to = std::min(high, end);
      if (from <= to) ways.push_back(between(fmt::format("{}", from), fmt::format("{}", to)));
      if (end > kLargestBound) break;
    }
    return e_.choice(ways);
  }

  // A point and digits, or nothing: not below 0.text; above it if it must be.
  ExpressionId fraction_at_least(std::string_view text, bool above) {
    if (text.empty() && !above) return any_fraction();
    return e_.sequence({e_.text("."), tail_at_least(text, above, kMaxDigits)});
  }
  ExpressionId fraction_at_most(std::string_view text, bool below) {
    if (text.empty()) {
      if (below) return e_.nothing();
      return e_.optional(e_.sequence({e_.text("."), e_.repeat(e_.text("0"), 1, kMaxDigits)}));
    }
    return e_.optional(e_.sequence({e_.text("."), tail_at_most(text, below, kMaxDigits)}));
  }
  ExpressionId any_fraction() { return e_.optional(e_.sequence({e_.text("."), any(1, kMaxDigits)})); }
  ExpressionId fraction_between(std::string_view low, bool above, std::string_view high, bool below) {
    const size_t same = static_cast<size_t>(std::ranges::mismatch(low, high).in1 - low.begin());
    const char first = same < low.size() ? low[same] : '0', last = same < high.size() ? high[same] : '0';
    if (same == low.size() && same == high.size()) return above || below ? e_.nothing() : exact(low);
    if (first > last) return e_.nothing();
    const uint32_t left = kMaxDigits - static_cast<uint32_t>(same) - 1;
    std::vector<ExpressionId> ways;
    const std::string_view low_rest = same < low.size() ? low.substr(same + 1) : std::string_view();
    const std::string_view high_rest = high.substr(std::min(high.size(), same + 1));
    if (first == last) {  // low has ended, and high goes on with a zero
      const ExpressionId next = between_tail(low_rest, above, high_rest, below, left);
      ways.push_back(e_.sequence({e_.text(std::string(1, first)), next}));
    } else {
      ways.push_back(e_.sequence({e_.text(std::string(1, first)), rest_at_least(low_rest, above, left)}));
      ways.push_back(
          e_.sequence({digit(static_cast<char>(first + 1), static_cast<char>(last - 1)), any(0, left)}));
      ways.push_back(e_.sequence({e_.text(std::string(1, last)), rest_at_most(high_rest, below, left)}));
    }
    const ExpressionId digits = e_.sequence({e_.text(low.substr(0, same)), e_.choice(ways)});
    const ExpressionId with_point = e_.sequence({e_.text("."), digits});
    return low.empty() && !above ? e_.optional(with_point) : with_point;
  }

 private:
  ExpressionId exact(std::string_view text) {
    const ExpressionId zeros = e_.repeat(e_.text("0"), 0, kMaxDigits - static_cast<uint32_t>(text.size()));
    if (text.empty()) return e_.optional(e_.sequence({e_.text("."), e_.repeat(e_.text("0"), 1, kMaxDigits)}));
    return e_.sequence({e_.text("."), e_.text(text), zeros});
  }
  ExpressionId between_tail(std::string_view low, bool above, std::string_view high, bool below,
                            uint32_t left) {
    // Rare (0.5 to 0.503): one digit at a time.
    const char last = high.empty() ? '0' : high[0], first = low.empty() ? '0' : low[0];
    if (left == 0 || (low.empty() && high.empty())) return above || below ? e_.nothing() : e_.empty();
    std::vector<ExpressionId> ways;
    if (low.empty() && !above) ways.push_back(e_.empty());
    const auto low_rest = low.substr(std::min<size_t>(1, low.size()));
    const auto high_rest = high.substr(std::min<size_t>(1, high.size()));
    if (first == last) {
      ways.push_back(e_.sequence(
          {e_.text(std::string(1, first)), between_tail(low_rest, above, high_rest, below, left - 1)}));
    } else if (first < last) {
      ways.push_back(e_.sequence({e_.text(std::string(1, first)), rest_at_least(low_rest, above, left - 1)}));
      ways.push_back(
          e_.sequence({digit(static_cast<char>(first + 1), static_cast<char>(last - 1)), any(0, left - 1)}));
      ways.push_back(e_.sequence({e_.text(std::string(1, last)), rest_at_most(high_rest, below, left - 1)}));
    }
    return e_.choice(ways);
  }
  // Digits after which nothing more is needed, and those that go on.
  ExpressionId rest_at_least(std::string_view text, bool above, uint32_t left) {
    if (text.empty() && !above) return any(0, left);
    return left == 0 ? e_.nothing() : tail_at_least(text, above, left);
  }
  ExpressionId rest_at_most(std::string_view text, bool below, uint32_t left) {
    if (text.empty()) return below ? e_.nothing() : e_.repeat(e_.text("0"), 0, left);
    return e_.optional(left == 0 ? e_.nothing() : tail_at_most(text, below, left));
  }
  // One to `left` digits.
  ExpressionId tail_at_least(std::string_view text, bool above, uint32_t left) {
    if (text.empty()) {  // above zero
      const ExpressionId some = e_.sequence({digit('1', '9'), any(0, left - 1)});
      return left == 1 ? some
                       : e_.choice({some, e_.sequence({e_.text("0"), tail_at_least(text, above, left - 1)})});
    }
    std::vector<ExpressionId> ways = {
        e_.sequence({e_.text(text.substr(0, 1)), rest_at_least(text.substr(1), above, left - 1)})};
    if (text[0] < '9')
      ways.push_back(e_.sequence({digit(static_cast<char>(text[0] + 1), '9'), any(0, left - 1)}));
    return e_.choice(ways);
  }
  ExpressionId tail_at_most(std::string_view text, bool below, uint32_t left) {
    std::vector<ExpressionId> ways;
    if (text[0] > '0')
      ways.push_back(e_.sequence({digit('0', static_cast<char>(text[0] - 1)), any(0, left - 1)}));
    ways.push_back(e_.sequence({e_.text(text.substr(0, 1)), rest_at_most(text.substr(1), below, left - 1)}));
    return e_.choice(ways);
  }

  Expressions& e_;
};

uint64_t magnitude(int64_t value) {
  return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

// Numbers without sign; max absent: to 16 digits.
ExpressionId magnitudes(Expressions& e, const std::optional<NumberBound>& min,
                        const std::optional<NumberBound>& max) {
  Digits digits(e);
  const auto whole = [](const Decimal& d) { return std::stoull(d.whole); };
  const uint64_t low = min ? whole(min->value) : 0;
  const uint64_t high = max ? whole(max->value) : kLargest;
  std::vector<ExpressionId> ways;
  if (low > high) return e.nothing();
  const auto low_fraction = min ? std::string_view(min->value.fraction) : std::string_view();
  const auto high_fraction = max ? std::string_view(max->value.fraction) : std::string_view();
  const bool above = min && min->exclusive, below = max && max->exclusive;
  const auto number = [&](uint64_t value) { return e.text(fmt::format("{}", value)); };
  if (max && low == high)
    return e.sequence({number(low), digits.fraction_between(low_fraction, above, high_fraction, below)});
  ways.push_back(e.sequence({number(low), digits.fraction_at_least(low_fraction, above)}));
  const uint64_t last = max ? high - 1 : high;
  if (low + 1 <= last) ways.push_back(e.sequence({digits.whole(low + 1, last), digits.any_fraction()}));
  if (max) ways.push_back(e.sequence({number(high), digits.fraction_at_most(high_fraction, below)}));
  return e.choice(ways);
}

bool is_zero(const Decimal& value) {
  return value.whole == "0" && value.fraction.empty();
}

}  // namespace

ExpressionId integer_range(Expressions& e, std::optional<int64_t> min, std::optional<int64_t> max) {
  if (min && max && *min > *max) return e.nothing();
  Digits digits(e);
  std::vector<ExpressionId> ways;
  const auto bounded = [](uint64_t value) { return std::min(value, kLargestBound); };
  if (!max || *max >= 0) {
    const uint64_t low = min && *min > 0 ? bounded(magnitude(*min)) : 0;
    const uint64_t high = max ? bounded(magnitude(*max)) : bounded(std::max(kLargest, low));
    ways.push_back(digits.whole(low, high));
  }
  if (!min || *min < 0) {
    const uint64_t low = max && *max < 0 ? bounded(magnitude(*max)) : 1;
    const uint64_t high = min ? bounded(magnitude(*min)) : bounded(std::max(kLargest, low));
    ways.push_back(e.sequence({e.text("-"), digits.whole(low, high)}));
  }
  return e.choice(ways);
}

std::optional<Decimal> to_decimal(double value) {
  if (!std::isfinite(value) || std::abs(value) > static_cast<double>(kLargest)) return std::nullopt;
  Decimal decimal;
  decimal.negative = value < 0;
  std::string text = fmt::format("{}", std::abs(value));
  if (text.find('e') != std::string::npos) text = fmt::format("{:.16f}", std::abs(value));
  const size_t point = text.find('.');
  decimal.whole = text.substr(0, point);
  if (point != std::string::npos) decimal.fraction = text.substr(point + 1);
  while (decimal.fraction.ends_with('0')) decimal.fraction.pop_back();
  if (decimal.fraction.size() > kMaxDigits) return std::nullopt;
  if (std::stod(decimal.whole + "." + decimal.fraction + "0") != std::abs(value)) return std::nullopt;
  return decimal;
}

ExpressionId number_range(Expressions& e, const std::optional<NumberBound>& min,
                          const std::optional<NumberBound>& max) {
  std::vector<ExpressionId> ways;
  const bool max_negative = max && (max->value.negative || (is_zero(max->value) && max->exclusive));
  const bool min_positive = min && !min->value.negative && !(is_zero(min->value) && !min->exclusive);
  if (!max_negative) {
    const bool bounded = min && !min->value.negative;
    ways.push_back(magnitudes(e, bounded ? min : std::nullopt, max));
  }
  if (!min_positive && !(min && !min->value.negative)) {
    const bool bounded = max && (max->value.negative || is_zero(max->value));
    ways.push_back(e.sequence({e.text("-"), magnitudes(e, bounded ? max : std::nullopt, min)}));
  }
  return e.choice(ways);
}

}  // namespace oxbow::grammar
