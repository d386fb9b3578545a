#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>

#include "text/jinja/characters.h"
#include "text/unicode.h"

namespace oxbow::text::jinja {

namespace {

constexpr std::array<std::string_view, 25> kOperators = {"//", "**", "==", "!=", "<=", ">=", "+", "-", "/",
                                                         "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                         "<",  ">",  "=",  ".",  ":",  "|",  ","};

bool name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool digit(char c) {
  return c >= '0' && c <= '9';
}

// \r\n and \r become \n; one newline at the end goes.
std::string normalize(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else {
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
      out += '\n';
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}
  Result<std::vector<Token>> run();

 private:
  Status root();
  Status comment();
  Status raw();
  Status inside(bool block);
  Status code_token();
  Status string_token();
  Status number_token();
  Status operator_token();
  Result<std::string> unescape(std::string_view body) const;

  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  bool starts(std::string_view text) const { return rest().starts_with(text); }
  void advance(size_t bytes) {
    line_ += static_cast<uint32_t>(std::ranges::count(rest().substr(0, bytes), '\n'));
    at_ += bytes;
  }
  void skip_space() { advance(rest().size() - strip(rest(), nullptr, true, false).size()); }
  void push(TokenKind kind, std::string text = "") { tokens_.push_back({kind, line_, std::move(text)}); }
  // The text before a tag, cut as the tag's sign asks. `tag` is where the tag's sign would stand.
  void push_text(std::string_view text, char sign, bool strips_line);
  // After the sign of a closing tag: takes what it strips.
  void after_tag(bool minus, bool plus, bool trims);
  // The sign at `at`, or 0.
  char sign_at(size_t at) const {
    return at < source_.size() && (source_[at] == '-' || source_[at] == '+') ? source_[at] : '\0';
  }
  template <typename... Args>
  tl::unexpected<Error> error(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorKind::kInvalidInput, "line {}: {}", line_,
                fmt::format(format, std::forward<Args>(args)...));
  }

  const std::string source_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  bool line_start_ = true;  // at the begin, or the last tag took its newline
  std::string open_;        // closing brackets that are still to come
  std::vector<Token> tokens_;
};

void Lexer::push_text(std::string_view text, char sign, bool strips_line) {
  const size_t size = text.size();
  if (sign == '-') {
    text = strip(text, nullptr, false, true);
  } else if (sign != '+' && strips_line) {
    const size_t newline = text.rfind('\n');
    const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    if ((start > 0 || line_start_) && strip(text.substr(start)).empty()) text = text.substr(0, start);
  }
  if (!text.empty()) push(TokenKind::kText, std::string(text));
  advance(size);
}

void Lexer::after_tag(bool minus, bool plus, bool trims) {
  const size_t before = at_;
  if (minus) {
    skip_space();
  } else if (!plus && trims && starts("\n")) {
    advance(1);
  }
  line_start_ = at_ > before && source_[at_ - 1] == '\n';
}

Status Lexer::root() {
  size_t mark = at_;
  for (;; ++mark) {
    mark = source_.find('{', mark);
    if (mark == std::string::npos || mark + 1 >= source_.size()) {
      push_text(rest(), '+', false);
      return {};
    }
    const char next = source_[mark + 1];
    if (next == '{' || next == '%' || next == '#') break;
  }
  const char kind = source_[mark + 1];
  const char sign = sign_at(mark + 2);
  push_text(rest().substr(0, mark - at_), sign, kind != '{');
  if (kind == '#') return comment();
  const bool block = kind == '%';
  if (block) {
    std::string_view after = rest().substr(sign != '\0' ? 3 : 2);
    after = strip(after, nullptr, true, false);
    if (after.starts_with("raw") && (after.size() == 3 || !(name_start(after[3]) || digit(after[3]))))
      return raw();
  }
  push(block ? TokenKind::kBlockBegin : TokenKind::kPrintBegin);
  advance(sign != '\0' ? 3 : 2);
  return inside(block);
}

Status Lexer::comment() {
  const size_t end = source_.find("#}", at_ + 2);
  if (end == std::string::npos) return error("a comment does not end");
  const char sign = end > at_ + 2 ? sign_at(end - 1) : '\0';
  advance(end + 2 - at_);
  after_tag(sign == '-', sign == '+', true);
  return {};
}

Status Lexer::raw() {
  const auto tag_end = [&](size_t& from, char& sign) {  // after the tag's name: [space][-+]%}
    while (from < source_.size() && is_space(static_cast<unsigned char>(source_[from]))) ++from;
    sign = sign_at(from);
    if (sign != '\0') ++from;
    return source_.compare(from, 2, "%}") == 0;
  };
  char sign = '\0';
  size_t from = source_.find("raw", at_) + 3;
  if (!tag_end(from, sign)) return error("expected %}} after raw");
  advance(from + 2 - at_);
  after_tag(sign == '-', false, false);
  for (size_t mark = at_; (mark = source_.find("{%", mark)) != std::string::npos; ++mark) {
    const char before = sign_at(mark + 2);
    size_t name = mark + 2 + (before != '\0' ? 1 : 0);
    while (name < source_.size() && is_space(static_cast<unsigned char>(source_[name]))) ++name;
    if (source_.compare(name, 6, "endraw") != 0) continue;
    size_t end = name + 6;
    if (!tag_end(end, sign)) continue;
    push_text(rest().substr(0, mark - at_), before, true);
    advance(end + 2 - at_);
    after_tag(sign == '-', sign == '+', true);
    return {};
  }
  return error("raw without endraw");
}

Status Lexer::inside(bool block) {
  const std::string_view close = block ? "%}" : "}}";
  open_.clear();
  while (true) {
    skip_space();
    if (at_ >= source_.size()) return error("a tag does not end, expected {}", close);
    const char sign = sign_at(at_);
    const bool signed_end = sign != '\0' && (block || sign == '-') && rest().substr(1).starts_with(close);
    if (open_.empty() && (signed_end || starts(close))) {
      push(block ? TokenKind::kBlockEnd : TokenKind::kPrintEnd);
      advance(signed_end ? 3 : 2);
      after_tag(signed_end && sign == '-', signed_end && sign == '+', block);
      return {};
    }
    OXBOW_TRY(code_token());
  }
}

Status Lexer::code_token() {
  const char c = source_[at_];
  if (digit(c)) return number_token();
  if (c == '\'' || c == '"') return string_token();
  if (!name_start(c)) return operator_token();
  size_t end = at_;
  while (end < source_.size() && (name_start(source_[end]) || digit(source_[end]))) ++end;
  push(TokenKind::kName, source_.substr(at_, end - at_));
  advance(end - at_);
  return {};
}

Status Lexer::number_token() {
  // Decimal digits with single underscores between them; then a fraction or an exponent make it a float.
  const auto digits = [&](size_t from) {
    while (from < source_.size() &&
           (digit(source_[from]) ||
            (source_[from] == '_' && from + 1 < source_.size() && digit(source_[from + 1]))))
      ++from;
    return from;
  };
  size_t end = digits(at_);
  TokenKind kind = TokenKind::kInteger;
  const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
  if (!after_dot && end + 1 < source_.size() && source_[end] == '.' && digit(source_[end + 1])) {
    kind = TokenKind::kFloat;
    end = digits(end + 1);
  }
  if (!after_dot && end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
    const size_t power = end + (sign_at(end + 1) != '\0' ? 2 : 1);
    if (power < source_.size() && digit(source_[power])) {
      kind = TokenKind::kFloat;
      end = digits(power);
    }
  }
  std::string text = source_.substr(at_, end - at_);
  std::erase(text, '_');
  if (text.size() > 400) return error("a number has more than 400 digits");
  push(kind, std::move(text));
  advance(end - at_);
  return {};
}

Status Lexer::string_token() {
  const char quote = source_[at_];
  size_t end = at_ + 1;
  while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
  if (end >= source_.size()) return error("a string does not end");
  OXBOW_ASSIGN(std::string text, unescape(std::string_view(source_).substr(at_ + 1, end - at_ - 1)));
  push(TokenKind::kString, std::move(text));
  advance(end + 1 - at_);
  return {};
}

Result<std::string> Lexer::unescape(std::string_view body) const {
  constexpr std::string_view kLetters = "abfnrtv\\'\"", kMeanings = "\a\b\f\n\r\t\v\\'\"";
  std::string out;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      out += body[i];
      continue;
    }
    const char c = body[++i];  // the lexer never ends a string behind a single backslash
    if (c == '\n') continue;
    if (const size_t known = kLetters.find(c); known != std::string_view::npos) {
      out += kMeanings[known];
      continue;
    }
    const size_t hex = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    const auto value_of = [&](size_t from, size_t longest, unsigned base, size_t& used) {
      uint64_t value = 0;
      for (used = 0; used < longest && from + used < body.size(); ++used) {
        const char d = body[from + used];
        const unsigned number = digit(d) ? static_cast<unsigned>(d - '0')
                                : (d | 0x20) >= 'a' && (d | 0x20) <= 'f'
                                    ? static_cast<unsigned>((d | 0x20) - 'a' + 10)
                                    : 99;
        if (number >= base) break;
        value = value * base + number;
      }
      return value;
    };
    size_t used = 0;
    if (hex > 0) {
      const uint64_t value = value_of(i + 1, hex, 16, used);
      if (used != hex || value > 0x10FFFF) return error("a string has a malformed \\{} escape", c);
      append_utf8(out, static_cast<char32_t>(value));
      i += hex;
    } else if (c >= '0' && c <= '7') {
      append_utf8(out, static_cast<char32_t>(value_of(i, 3, 8, used)));
      i += used - 1;
    } else if (c == 'N') {
      return error("\\N escapes are not supported");
    } else {
      out += '\\';
      out += c;
    }
  }
  return out;
}

Status Lexer::operator_token() {
  const auto found = std::ranges::find_if(kOperators, [&](std::string_view op) { return starts(op); });
  if (found == kOperators.end()) {
    const std::string_view c = rest().substr(0, decode_character(rest()).size_bytes);
    return error("unexpected character '{}'", c);
  }
  const std::string_view op = *found;
  constexpr std::string_view kOpening = "([{", kClosing = ")]}";
  if (const size_t kind = kOpening.find(op); kind != std::string_view::npos) {
    open_ += kClosing[kind];
  } else if (kClosing.find(op) != std::string_view::npos) {
    if (open_.empty()) return error("unexpected '{}'", op);
    if (open_.back() != op[0]) return error("unexpected '{}', expected '{}'", op, open_.back());
    open_.pop_back();
  }
  push(TokenKind::kOperator, std::string(op));
  advance(op.size());
  return {};
}

Result<std::vector<Token>> Lexer::run() {
  while (at_ < source_.size()) OXBOW_TRY(root());
  push(TokenKind::kEnd);
  return std::move(tokens_);
}

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) {
  if (const size_t valid = valid_utf8_prefix(source); valid != source.size())
    return fail(ErrorKind::kInvalidInput, "the template is not UTF-8 at byte {}", valid);
  return Lexer(normalize(source)).run();
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end of the template";
    case TokenKind::kText:
      return "text";
    case TokenKind::kPrintBegin:
      return "'{{'";
    case TokenKind::kPrintEnd:
      return "'}}'";
    case TokenKind::kBlockBegin:
      return "'{%'";
    case TokenKind::kBlockEnd:
      return "'%}'";
    case TokenKind::kString:
      return "a string";
    default:
      return fmt::format("'{}'", token.text);
  }
}

}  // namespace oxbow::text::jinja
