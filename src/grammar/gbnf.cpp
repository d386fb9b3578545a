#include "grammar/gbnf.h"

#include <charconv>
#include <optional>
#include <unordered_map>

#include "text/unicode.h"

namespace oxbow::grammar {

namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// Recursive descent over the source. Every parse function leaves at_ behind what it read.
class Parser {
 public:
  Parser(std::string_view source, const GrammarVocabulary& vocabulary, const GbnfLimits& limits)
      : source_(source), vocabulary_(vocabulary), limits_(limits) {}

  Result<Expressions> run() {
    if (source_.size() > limits_.source_bytes)
      return fail(ErrorKind::kOutOfBudget, "the grammar has {} bytes, the limit is {}", source_.size(),
                  limits_.source_bytes);
    rule_id("root");
    skip_blanks(true);
    while (at_ < source_.size()) OXBOW_TRY(parse_rule());
    for (const auto& [name, use] : uses_) {
      if (!expressions_.rules()[use.rule].defined)
        return error_at(use.place, "rule '{}' is not defined", name);
    }
    return std::move(expressions_);
  }

 private:
  struct Use {
    RuleId rule;
    size_t place;  // of its first mention
  };

  template <typename... Args>
  tl::unexpected<Error> error_at(size_t place, fmt::format_string<Args...> format, Args&&... args) const {
    size_t line = 1, begin = 0;
    for (size_t i = 0; i < place && i < source_.size(); ++i) {
      if (source_[i] != '\n') continue;
      ++line;
      begin = i + 1;
    }
    return fail(ErrorKind::kInvalidInput, "grammar, line {}, column {}: {}", line, place - begin + 1,
                fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  tl::unexpected<Error> error(fmt::format_string<Args...> format, Args&&... args) const {
    return error_at(at_, format, std::forward<Args>(args)...);
  }

  bool at(char c) const { return at_ < source_.size() && source_[at_] == c; }
  bool take(char c) {
    if (!at(c)) return false;
    ++at_;
    return true;
  }

  void skip_blanks(bool newlines) {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == '#') {
        while (at_ < source_.size() && source_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || (newlines && (c == '\n' || c == '\r'))) {
        ++at_;
      } else {
        break;
      }
    }
  }

  RuleId rule_id(std::string_view name) {
    const auto [place, is_new] = uses_.try_emplace(std::string(name), Use{0, at_});
    if (is_new) place->second.rule = expressions_.add_rule(std::string(name));
    return place->second.rule;
  }

  Result<std::string_view> parse_name() {
    const size_t begin = at_;
    while (at_ < source_.size() && is_name_character(source_[at_])) ++at_;
    if (at_ == begin) return error("expected the name of a rule");
    return source_.substr(begin, at_ - begin);
  }

  // Whether a rule begins here: alternatives end where the next one stands.
  bool at_rule() const {
    size_t i = at_;
    while (i < source_.size() && is_name_character(source_[i])) ++i;
    if (i == at_) return false;
    while (i < source_.size() && (source_[i] == ' ' || source_[i] == '\t')) ++i;
    return source_.substr(i).starts_with("::=");
  }

  Status parse_rule() {
    const size_t place = at_;
    OXBOW_ASSIGN(const std::string_view name, parse_name());
    const RuleId id = rule_id(name);
    skip_blanks(false);
    if (!source_.substr(at_).starts_with("::=")) return error("expected ::= after '{}'", name);
    at_ += 3;
    if (expressions_.rules()[id].defined) return error_at(place, "rule '{}' is defined twice", name);
    skip_blanks(true);
    OXBOW_ASSIGN(const ExpressionId body, parse_alternatives(0));
    expressions_.define(id, body);
    if (at_ < source_.size() && !at_rule())
      return error("expected the next rule, or | before an alternative");
    return {};
  }

  Result<ExpressionId> parse_alternatives(size_t nesting) {
    std::vector<ExpressionId> alternatives;
    do {
      skip_blanks(true);
      OXBOW_ASSIGN(const ExpressionId alternative, parse_sequence(nesting));
      alternatives.push_back(alternative);
    } while (take('|'));
    return expressions_.choice(alternatives);
  }

  // Up to |, ), the end or the next rule.
  Result<ExpressionId> parse_sequence(size_t nesting) {
    std::vector<ExpressionId> parts;
    for (;;) {
      skip_blanks(true);
      if (at_ == source_.size() || at('|') || at(')') || at_rule()) break;
      OXBOW_ASSIGN(ExpressionId part, parse_item(nesting));
      for (;;) {
        skip_blanks(nesting > 0);
        const char c = at_ < source_.size() ? source_[at_] : '\0';
        if (c != '*' && c != '+' && c != '?' && c != '{') break;
        OXBOW_ASSIGN(part, parse_repetition(part));
      }
      parts.push_back(part);
    }
    return expressions_.sequence(parts);
  }

  Result<ExpressionId> parse_item(size_t nesting) {
    if (at('"')) return parse_text();
    if (at('[')) return parse_set();
    if (at('<')) return parse_token();
    if (take('.')) return expressions_.characters({{0, 0x10FFFF}});
    if (at('(')) {
      const size_t place = at_++;
      if (nesting == limits_.nesting) return error_at(place, "groups are nested more than {} deep", nesting);
      OXBOW_ASSIGN(const ExpressionId group, parse_alternatives(nesting + 1));
      if (!take(')')) return error_at(place, "this group is not closed");
      return group;
    }
    if (at_ < source_.size() && is_name_character(source_[at_])) {
      const size_t place = at_;
      OXBOW_ASSIGN(const std::string_view name, parse_name());
      const auto known = uses_.find(std::string(name));
      const RuleId id = known != uses_.end() ? known->second.rule : rule_id(name);
      uses_.find(std::string(name))->second.place = place;
      return expressions_.rule(id);
    }
    return error("expected a rule's name, a text, a set, '.' or a group");
  }

  Result<ExpressionId> parse_repetition(ExpressionId body) {
    if (take('*')) return expressions_.repeat(body, 0, kUnbounded);
    if (take('+')) return expressions_.repeat(body, 1, kUnbounded);
    if (take('?')) return expressions_.repeat(body, 0, 1);
    const size_t place = at_++;
    skip_blanks(false);
    OXBOW_ASSIGN(const std::optional<uint32_t> min, parse_count());
    skip_blanks(false);
    std::optional<uint32_t> max = min;
    if (take(',')) {
      skip_blanks(false);
      OXBOW_ASSIGN(max, parse_count());
      if (!max) max = kUnbounded;
      skip_blanks(false);
    } else if (!min) {
      return error("expected a number of repetitions");
    }
    if (!take('}')) return error("expected }}");
    if (min.value_or(0) > *max) return error_at(place, "{} repetitions at least, but {} at most", *min, *max);
    return expressions_.repeat(body, min.value_or(0), *max);
  }

  Result<std::optional<uint32_t>> parse_count() {
    const size_t place = at_;
    while (at_ < source_.size() && source_[at_] >= '0' && source_[at_] <= '9') ++at_;
    if (at_ == place) return std::optional<uint32_t>();
    uint32_t value = 0;
    const auto [end, code] = std::from_chars(source_.data() + place, source_.data() + at_, value);
    if (code != std::errc() || value > limits_.repetitions)
      return error_at(place, "more than {} repetitions", limits_.repetitions);
    return std::optional<uint32_t>(value);
  }

  Result<ExpressionId> parse_text() {
    const size_t place = at_++;
    std::string bytes;
    while (!take('"')) {
      if (at_ == source_.size() || at('\n')) return error_at(place, "this text is not closed");
      OXBOW_ASSIGN(const char32_t c, parse_character());
      text::append_utf8(bytes, c);
    }
    return expressions_.text(bytes);
  }

  Result<ExpressionId> parse_set() {
    const size_t place = at_++;
    const bool negated = take('^');
    std::vector<CharacterRange> ranges;
    while (!take(']')) {
      if (at_ == source_.size()) return error_at(place, "this set is not closed");
      OXBOW_ASSIGN(const char32_t first, parse_character());
      char32_t last = first;
      if (at('-') && at_ + 1 < source_.size() && source_[at_ + 1] != ']') {
        const size_t range = at_++;
        OXBOW_ASSIGN(last, parse_character());
        if (last < first) return error_at(range, "this range ends before it begins");
      }
      ranges.push_back({first, last});
    }
    ranges = normalized(std::move(ranges));
    if (negated) ranges = complement(ranges);
    if (ranges.empty()) return error_at(place, "this set holds no character");
    return expressions_.characters(std::move(ranges));
  }

  Result<char32_t> parse_character() {
    if (at_ == source_.size()) return error("the grammar ends within a text");
    if (at('\\')) return parse_escape();
    const text::Character c = text::decode_character(source_.substr(at_));
    if (!c.valid) return error("this is not UTF-8");
    at_ += c.size_bytes;
    return c.code_point;
  }

  Result<char32_t> parse_escape() {
    const size_t place = at_++;
    const char c = at_ < source_.size() ? source_[at_++] : '\0';
    switch (c) {
      case 'n':
        return U'\n';
      case 'r':
        return U'\r';
      case 't':
        return U'\t';
      case 'x':
        return parse_hex(place, 2);
      case 'u':
        return parse_hex(place, 4);
      case 'U':
        return parse_hex(place, 8);
      case '\\':
      case '"':
      case '[':
      case ']':
      case '^':
      case '-':
      case '/':
        return static_cast<char32_t>(c);
      default:
        return error_at(place, "unknown escape");
    }
  }

  Result<char32_t> parse_hex(size_t place, size_t digits) {
    uint32_t value = 0;
    const std::string_view text = source_.substr(at_, digits);
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (code != std::errc() || text.size() != digits || end != text.data() + digits)
      return error_at(place, "expected {} hexadecimal digits", digits);
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
      return error_at(place, "U+{:04X} is no character", value);
    at_ += digits;
    return static_cast<char32_t>(value);
  }

  // <text of a token> or <[id]>.
  Result<ExpressionId> parse_token() {
    const size_t place = at_;
    const size_t end = source_.find('>', at_);
    if (end == std::string_view::npos || source_.substr(at_, end - at_).find('\n') != std::string_view::npos)
      return error("this token is not closed");
    at_ = end + 1;
    const std::string_view spelled = source_.substr(place, at_ - place);
    std::optional<TokenId> id;
    if (spelled.starts_with("<[") && spelled.ends_with("]>")) {
      const std::string_view digits = spelled.substr(2, spelled.size() - 4);
      TokenId value = -1;
      const auto [stop, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (code == std::errc() && stop == digits.data() + digits.size() && value >= 0 &&
          static_cast<size_t>(value) < vocabulary_.size())
        id = value;
    } else {
      id = vocabulary_.find(spelled);
    }
    if (!id) return error_at(place, "the vocabulary has no token {}", spelled);
    if (vocabulary_.is_end(*id)) return error_at(place, "{} ends the answer: it follows by itself", spelled);
    const std::string_view bytes = vocabulary_.bytes(*id);
    return bytes.empty() ? expressions_.token(*id) : expressions_.text(bytes);
  }

  std::string_view source_;
  const GrammarVocabulary& vocabulary_;
  const GbnfLimits& limits_;
  size_t at_ = 0;
  Expressions expressions_;
  std::unordered_map<std::string, Use> uses_;
};

}  // namespace

Result<Expressions> parse_gbnf(std::string_view source, const GrammarVocabulary& vocabulary,
                               const GbnfLimits& limits) {
  return Parser(source, vocabulary, limits).run();
}

}  // namespace oxbow::grammar
