#include "text/python_calls.h"

#include <charconv>

#include "text/unicode.h"

namespace oxbow::text {

namespace {

using Json = nlohmann::ordered_json;
constexpr int kMaxNesting = 64;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-';
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<std::vector<std::pair<std::string, Json>>> run() {
    std::vector<std::pair<std::string, Json>> calls;
    if (!take('[')) return std::nullopt;
    do {
      const std::string name = word();
      Json arguments = Json::object();
      if (name.empty() || !take('(')) return std::nullopt;
      while (!take(')')) {
        const std::string key = word();
        if (key.empty() || !take('=')) return std::nullopt;
        auto argument = value(0);
        if (!argument) return std::nullopt;
        arguments[key] = std::move(*argument);
        if (!take(',') && !at(')')) return std::nullopt;
      }
      calls.emplace_back(name, std::move(arguments));
    } while (take(','));
    if (!take(']')) return std::nullopt;
    blanks();
    if (at_ != text_.size()) return std::nullopt;
    return calls;
  }

 private:
  void blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  bool at(char c) {
    blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    if (!at(c)) return false;
    ++at_;
    return true;
  }
  std::string word() {
    blanks();
    const size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::optional<Json> value(int nesting) {
    if (nesting > kMaxNesting) return std::nullopt;
    if (at('"') || at('\'')) return string();
    if (at('[') || at('(')) return list(nesting);
    if (at('{')) return object(nesting);
    const size_t begin = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '+')) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name == "True" || name == "true") return Json(true);
    if (name == "False" || name == "false") return Json(false);
    if (name == "None" || name == "null") return Json(nullptr);
    const Json number = Json::parse(name, nullptr, false);
    if (!number.is_number()) return std::nullopt;
    return number;
  }

  std::optional<Json> list(int nesting) {
    const char close = text_[at_++] == '[' ? ']' : ')';
    Json items = Json::array();
    while (!take(close)) {
      auto item = value(nesting + 1);
      if (!item || (!take(',') && !at(close))) return std::nullopt;
      items.push_back(std::move(*item));
    }
    return items;
  }

  std::optional<Json> object(int nesting) {
    ++at_;
    Json members = Json::object();
    while (!take('}')) {
      if (!at('"') && !at('\'')) return std::nullopt;
      const auto key = string();
      if (!key || !take(':')) return std::nullopt;
      auto member = value(nesting + 1);
      if (!member || (!take(',') && !at('}'))) return std::nullopt;
      members[key->get<std::string>()] = std::move(*member);
    }
    return members;
  }

  std::optional<Json> string() {
    const char quote = text_[at_++];
    std::string out;
    while (at_ < text_.size() && text_[at_] != quote) {
      const char c = text_[at_++];
      if (c != '\\') {
        out += c;
        continue;
      }
      if (at_ == text_.size()) return std::nullopt;
      const char escape = text_[at_++];
      switch (escape) {
        case 'n':
          out += '\n';
          break;
        case 't':
          out += '\t';
          break;
        case 'r':
          out += '\r';
          break;
        case 'b':
          out += '\b';
          break;
        case 'f':
          out += '\f';
          break;
        case 'x':
        case 'u': {
          const std::string_view digits = text_.substr(at_, escape == 'x' ? 2 : 4);
          uint32_t code = 0;
          const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
          if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
          at_ += digits.size();
          if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
            uint32_t low = 0;
            const std::string_view rest = text_.substr(at_ + 2, 4);
            std::from_chars(rest.data(), rest.data() + rest.size(), low, 16);
            if (low >= 0xDC00 && low < 0xE000) {
              code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
              at_ += 6;
            }
          }
          append_utf8(out, code);
          break;
        }
        case '\n':
          break;
        default:
          out += escape;
          break;
      }
    }
    if (at_ == text_.size()) return std::nullopt;
    ++at_;
    return Json(out);
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::optional<std::vector<std::pair<std::string, Json>>> parse_python_calls(std::string_view text) {
  return Reader(text).run();
}

}  // namespace oxbow::text
