#include "cli/values.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "base/bytes.h"

namespace oxbow::cli {
namespace {

constexpr std::string_view kSeparators = " \t\r\n,";
constexpr size_t kShownBytes = 40;  // of a wrong word

template <typename T>
std::optional<T> parse_whole(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
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
