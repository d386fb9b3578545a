// Regular expressions of ECMA-262 as expressions.

#include <charconv>
#include <optional>

#include "grammar/json_strings.h"
#include "text/unicode.h"

namespace oxbow::grammar {

namespace {

constexpr size_t kMaxPatternBytes = 4096;
constexpr int kMaxNesting = 32;
constexpr uint32_t kMaxRepetitions = 10'000;

const std::vector<CharacterRange> kDigits = {{'0', '9'}};
const std::vector<CharacterRange> kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const std::vector<CharacterRange> kSpace = {
    {0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
    {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const std::vector<CharacterRange> kLineEnds = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

class PatternParser {
 public:
  PatternParser(Expressions& expressions, std::string_view pattern) : e_(expressions), pattern_(pattern) {}

  Result<ExpressionId> run() {
    if (pattern_.size() > kMaxPatternBytes)
      return fail(ErrorKind::kOutOfBudget, "the pattern is longer than {} bytes", kMaxPatternBytes);
    const ExpressionId any = e_.repeat(string_character(e_, {{0, 0x10FFFF}}), 0, kUnbounded);
    std::vector<ExpressionId> ways;
    do {
      const bool from_begin = take('^');
      bool to_end = false;
      OXBOW_ASSIGN(const ExpressionId body, parse_sequence(0, &to_end));
      ways.push_back(e_.sequence(
          {e_.text("\""), from_begin ? e_.empty() : any, body, to_end ? e_.empty() : any, e_.text("\"")}));
    } while (take('|'));
    if (at_ != pattern_.size()) return error("')' without '('");
    return e_.choice(ways);
  }

 private:
  template <typename... Args>
  tl::unexpected<Error> error(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorKind::kInvalidInput, "byte {} of the pattern: {}", at_,
                fmt::format(format, std::forward<Args>(args)...));
  }
  tl::unexpected<Error> unsupported(std::string_view what) const {
    return fail(ErrorKind::kUnsupported, "byte {} of the pattern: {} is not supported", at_, what);
  }
  bool at(char c) const { return at_ < pattern_.size() && pattern_[at_] == c; }
  bool take(char c) {
    if (!at(c)) return false;
    ++at_;
    return true;
  }

  Result<ExpressionId> parse_alternatives(int nesting) {
    std::vector<ExpressionId> ways;
    do {
      OXBOW_ASSIGN(const ExpressionId way, parse_sequence(nesting, nullptr));
      ways.push_back(way);
    } while (take('|'));
    return e_.choice(ways);
  }

  // end: takes a $ at the end of the sequence; null where none may stand.
  Result<ExpressionId> parse_sequence(int nesting, bool* end) {
    std::vector<ExpressionId> parts;
    while (at_ < pattern_.size() && !at('|') && !at(')')) {
      if (at('$')) {
        const bool is_last = at_ + 1 == pattern_.size() || pattern_[at_ + 1] == '|';
        if (end == nullptr || !is_last) return unsupported("'$' in this place");
        ++at_;
        *end = true;
        break;
      }
      if (at('^')) return unsupported("'^' in this place");
      OXBOW_ASSIGN(ExpressionId part, parse_atom(nesting));
      OXBOW_ASSIGN(part, parse_quantifier(part));
      parts.push_back(part);
    }
    return e_.sequence(parts);
  }

  Result<ExpressionId> parse_quantifier(ExpressionId body) {
    uint32_t min = 0, max = kUnbounded;
    if (take('*')) {
    } else if (take('+')) {
      min = 1;
    } else if (take('?')) {
      max = 1;
    } else if (at('{') && at_ + 1 < pattern_.size() && pattern_[at_ + 1] >= '0' && pattern_[at_ + 1] <= '9') {
      ++at_;
      OXBOW_ASSIGN(min, parse_number());
      max = min;
      if (take(',')) {
        max = kUnbounded;
        if (!at('}')) {
          OXBOW_ASSIGN(max, parse_number());
        }
      }
      if (!take('}')) return error("expected '}}'");
      if (min > max) return error("{} repetitions at least, but {} at most", min, max);
    } else {
      return body;
    }
    take('?');  // a lazy one accepts the same texts
    if (at('*') || at('+') || at('?')) return error("nothing to repeat");
    return e_.repeat(body, min, max);
  }

  Result<uint32_t> parse_number() {
    uint32_t value = 0;
    const auto [end, code] = std::from_chars(pattern_.data() + at_, pattern_.data() + pattern_.size(), value);
    if (code == std::errc::invalid_argument) return error("expected a number");
    if (code != std::errc() || value > kMaxRepetitions)
      return error("more than {} repetitions", kMaxRepetitions);
    at_ = static_cast<size_t>(end - pattern_.data());
    return value;
  }

  Result<ExpressionId> parse_atom(int nesting) {
    if (take('(')) {
      if (nesting == kMaxNesting) return error("groups are nested more than {} deep", kMaxNesting);
      if (take('?')) {
        if (at('<') && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != '=' && pattern_[at_ + 1] != '!') {
          const size_t close = pattern_.find('>', at_);
          if (close == std::string_view::npos) return error("expected '>'");
          at_ = close + 1;
        } else if (!take(':')) {
          return unsupported("look-around");
        }
      }
      OXBOW_ASSIGN(const ExpressionId group, parse_alternatives(nesting + 1));
      if (!take(')')) return error("expected ')'");
      return group;
    }
    if (take('[')) return parse_class();
    if (take('.')) return string_character(e_, complement(kLineEnds));
    if (at('*') || at('+') || at('?')) return error("nothing to repeat");
    std::vector<CharacterRange> set;
    OXBOW_TRY(parse_character(set));
    return string_character(e_, std::move(set));
  }

  Result<ExpressionId> parse_class() {
    const bool negated = take('^');
    std::vector<CharacterRange> ranges;
    while (!take(']')) {
      if (at_ == pattern_.size()) return error("expected ']'");
      std::vector<CharacterRange> first;
      OXBOW_TRY(parse_character(first));
      if (is_single(first) && at('-') && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']') {
        ++at_;
        std::vector<CharacterRange> last;
        OXBOW_TRY(parse_character(last));
        if (!is_single(last) || last[0].first < first[0].first) return error("a range without order");
        first[0].last = last[0].first;
      }
      ranges.insert(ranges.end(), first.begin(), first.end());
    }
    ranges = normalized(std::move(ranges));
    return string_character(e_, negated ? complement(ranges) : ranges);
  }

  static bool is_single(const std::vector<CharacterRange>& set) {
    return set.size() == 1 && set[0].first == set[0].last;
  }

  // One character, or what an escape stands for.
  Status parse_character(std::vector<CharacterRange>& set) {
    if (take('\\')) return parse_escape(set);
    const text::Character c = text::decode_character(pattern_.substr(at_));
    if (!c.valid) return error("not UTF-8");
    at_ += c.size_bytes;
    set = {{c.code_point, c.code_point}};
    return {};
  }

  Status parse_escape(std::vector<CharacterRange>& set) {
    if (at_ == pattern_.size()) return error("the pattern ends with '\\'");
    const char c = pattern_[at_++];
    const auto one = [&](char32_t value) { set = {{value, value}}; };
    switch (c) {
      case 'd':
        set = kDigits;
        return {};
      case 'D':
        set = complement(kDigits);
        return {};
      case 'w':
        set = kWord;
        return {};
      case 'W':
        set = complement(kWord);
        return {};
      case 's':
        set = kSpace;
        return {};
      case 'S':
        set = complement(kSpace);
        return {};
      case 'n':
        one('\n');
        return {};
      case 'r':
        one('\r');
        return {};
      case 't':
        one('\t');
        return {};
      case 'f':
        one('\f');
        return {};
      case 'v':
        one('\v');
        return {};
      case '0':
        one(0);
        return {};
      case 'x':
        return parse_hex(2, set);
      case 'u':
        if (!at('{')) return parse_hex(4, set);
        return unsupported("\\u{...}");
      default:
        break;
    }
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9'))
      return unsupported(fmt::format("\\{}", c));
    --at_;
    const text::Character plain = text::decode_character(pattern_.substr(at_));
    if (!plain.valid) return error("not UTF-8");
    at_ += plain.size_bytes;
    one(plain.code_point);
    return {};
  }

  Status parse_hex(size_t digits, std::vector<CharacterRange>& set) {
    uint32_t value = 0;
    const std::string_view text = pattern_.substr(at_, digits);
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (text.size() != digits || code != std::errc() || end != text.data() + digits)
      return error("expected {} hexadecimal digits", digits);
    if (value >= 0xD800 && value <= 0xDFFF) return unsupported("half of a surrogate pair");
    at_ += digits;
    set = {{value, value}};
    return {};
  }

  Expressions& e_;
  std::string_view pattern_;
  size_t at_ = 0;
};

}  // namespace

Result<ExpressionId> string_with_pattern(Expressions& expressions, std::string_view pattern) {
  return PatternParser(expressions, pattern).run();
}

}  // namespace oxbow::grammar
