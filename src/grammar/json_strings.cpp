#include "grammar/json_strings.h"

#include <map>
#include <nlohmann/json.hpp>

#include "grammar/json_texts.h"
#include "text/unicode.h"

namespace oxbow::grammar {

namespace {

// Patterns that formats stand for (RFC 3339, RFC 4122; the rest in their everyday forms).
constexpr std::pair<std::string_view, std::string_view> kFormats[] = {
    {"date",
     "^[1-9][0-9]{3}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)$"},
    {"time",
     "^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"},
    {"date-time",
     "^[1-9][0-9]{3}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
     "T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"},
    {"uuid", "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"},
    {"email",
     "^[A-Za-z0-9_+-]{1,32}(\\.[A-Za-z0-9_+-]{1,32}){0,3}@([A-Za-z0-9]{1,32}(-[A-Za-z0-9]{1,32}){0,3}\\.){1,"
     "4}[A-Za-z]{2,16}$"},
    {"ipv4",
     "^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])$"},
};
}  // namespace

std::string json_quoted(std::string_view content) {
  return nlohmann::json(content).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

ExpressionId string_character(Expressions& e, std::vector<CharacterRange> ranges) {
  std::vector<CharacterRange> plain;
  std::vector<ExpressionId> ways;
  for (const auto& [first, last] : normalized(std::move(ranges))) {
    char32_t begin = first;
    for (char32_t c = first; c <= std::min<char32_t>(last, '\\'); ++c) {
      if (c >= 0x20 && c != '"' && c != '\\') continue;
      if (c > begin) plain.push_back({begin, c - 1});
      begin = c + 1;
      const std::string text = json_quoted(std::string(1, static_cast<char>(c)));
      ways.push_back(e.text(std::string_view(text).substr(1, text.size() - 2)));
    }
    if (begin <= last) plain.push_back({begin, last});
  }
  if (!plain.empty()) ways.push_back(e.characters(std::move(plain)));
  return e.choice(ways);
}

std::optional<ExpressionId> string_with_format(Expressions& e, std::string_view format) {
  for (const auto& [name, pattern] : kFormats) {
    if (name != format) continue;
    const auto expression = string_with_pattern(e, pattern);
    if (expression) return *expression;
  }
  return std::nullopt;
}

namespace {

// Names as a tree of characters.
struct Names {
  std::map<char32_t, Names> next;
  bool ends = false;
};

ExpressionId except(Expressions& e, const Names& names, ExpressionId any, ExpressionId plain_end) {
  std::vector<CharacterRange> here = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
  std::vector<ExpressionId> ways;
  for (const auto& [c, rest] : names.next) {
    here.push_back({c, c});
    std::string text;
    text::append_utf8(text, c);
    ways.push_back(e.sequence({e.text(text), except(e, rest, any, plain_end)}));
  }
  ways.push_back(e.sequence({e.characters(complement(normalized(here))), any, plain_end}));
  if (!names.ends) ways.push_back(plain_end);
  return e.choice(ways);
}

}  // namespace

ExpressionId string_except(Expressions& e, std::span<const std::string> names) {
  constexpr size_t kMaxNameBytes = 128;  // longer names are not told apart from their beginnings
  Names tree;
  for (const std::string& name : names) {
    if (json_quoted(name).size() != name.size() + 2) continue;  // cannot be written without escapes
    Names* at = &tree;
    std::string_view rest = std::string_view(name).substr(0, kMaxNameBytes);
    while (!rest.empty()) {
      const text::Character c = text::decode_character(rest);
      if (!c.valid) break;
      at = &at->next[c.code_point];
      rest.remove_prefix(c.size_bytes);
    }
    at->ends = true;
  }
  const ExpressionId plain = e.characters(complement(normalized({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}})));
  const ExpressionId any = e.repeat(plain, 0, kUnbounded);
  return e.sequence({e.text("\""), except(e, tree, any, e.text("\""))});
}

}  // namespace oxbow::grammar
