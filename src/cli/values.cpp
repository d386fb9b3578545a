#include "cli/values.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "base/bytes.h"

namespace oxbow::cli {
namespace {

constexpr std::string_view kSeparators = " \t\r\n,";
constexpr size_t kShownBytes = 40;  // of a wrong word
constexpr size_t kMostCounts = 64;
constexpr int64_t kLargestCount = int64_t{1} << 30;

template <typename T>
std::optional<T> parse_whole(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "5", "1-8", "1-8+2", "1-8*2"
struct Range {
  int64_t first = 0, last = 0, step = 1;
  bool multiply = false;

  int64_t next(int64_t n) const { return multiply ? n * step : n + step; }
};

std::optional<Range> parse_range(std::string_view text) {
  Range range;
  const auto take = [](std::string_view digits, int64_t low) -> std::optional<int64_t> {
    const bool plain = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
    const auto value = plain ? parse_whole<int64_t>(digits) : std::nullopt;
    return value && *value >= low && *value <= kLargestCount ? value : std::nullopt;
  };
  const size_t dash = text.find('-');
  const auto first = take(text.substr(0, dash), 0);
  if (!first) return std::nullopt;
  range.first = range.last = *first;
  if (dash == std::string_view::npos) return range;
  const size_t sign = text.find_first_of("+*", dash);
  const auto last =
      take(text.substr(dash + 1, sign == std::string_view::npos ? sign : sign - dash - 1), *first);
  if (!last) return std::nullopt;
  range.last = *last;
  if (sign == std::string_view::npos) return range;
  range.multiply = text[sign] == '*';
  if (range.multiply && range.first == 0) return std::nullopt;
  const auto step = take(text.substr(sign + 1), range.multiply ? 2 : 1);
  if (!step) return std::nullopt;
  range.step = *step;
  return range;
}

}  // namespace

std::optional<int64_t> parse_integer(std::string_view text) {
  return parse_whole<int64_t>(text);
}

std::optional<double> parse_real(std::string_view text) {
  const auto value = parse_whole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<uint64_t> parse_size(std::string_view text) {
  uint64_t unit = 1;
  if (!text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K':
        unit = uint64_t{1} << 10;
        break;
      case 'm':
      case 'M':
        unit = uint64_t{1} << 20;
        break;
      case 'g':
      case 'G':
        unit = uint64_t{1} << 30;
        break;
      default:
        break;
    }
  }
  if (unit > 1) text.remove_suffix(1);
  const auto count = parse_integer(text);
  if (!count || *count < 0) return std::nullopt;
  const auto bytes = checked_multiply(static_cast<uint64_t>(*count), unit);
  if (!bytes || *bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return bytes;
}

Result<std::vector<size_t>> parse_counts(std::string_view text) {
  std::vector<size_t> counts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    begin = end + 1;
    const auto range = parse_range(part);
    if (!range) {
      return fail(ErrorKind::kInvalidInput, "expected numbers such as 512,2048 or 1-16*2, \"{}\" was given",
                  part.substr(0, kShownBytes));
    }
    for (int64_t n = range->first; n <= range->last; n = range->next(n)) {
      if (counts.size() == kMostCounts) {
        return fail(ErrorKind::kInvalidInput, "expected at most {} numbers", kMostCounts);
      }
      counts.push_back(static_cast<size_t>(n));
    }
  }
  return counts;
}

Result<std::vector<TokenId>> parse_tokens(std::string_view text) {
  std::vector<TokenId> tokens;
  for (size_t begin = text.find_first_not_of(kSeparators); begin != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kSeparators, begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const auto number = parse_integer(word);
    if (!number || *number < 0 || *number > std::numeric_limits<TokenId>::max()) {
      return fail(ErrorKind::kInvalidInput, "token {} of the list is \"{}\", expected a number from 0",
                  tokens.size(), word.substr(0, kShownBytes));
    }
    tokens.push_back(static_cast<TokenId>(*number));
    begin = text.find_first_not_of(kSeparators, end);
  }
  if (tokens.empty())
    return fail(ErrorKind::kInvalidInput, "the list of tokens is empty, expected for example \"1 2 3\"");
  return tokens;
}

}  // namespace oxbow::cli
