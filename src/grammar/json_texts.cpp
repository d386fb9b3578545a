#include "grammar/json_texts.h"

namespace oxbow::grammar {

namespace {

// What a double can tell apart, and its range.
constexpr uint32_t kMaxIntegerDigits = 16;
constexpr uint32_t kMaxFractionDigits = 16;
constexpr uint32_t kMaxExponentDigits = 2;
constexpr uint32_t kMaxIndentation = 20;

}  // namespace

ExpressionId JsonTexts::once(ExpressionId& kept, const char* name, ExpressionId (JsonTexts::*make)()) {
  if (kept == kNone) {
    const RuleId rule = expressions_.add_rule(name);
    kept = expressions_.rule(rule);
    expressions_.define(rule, (this->*make)());
  }
  return kept;
}

ExpressionId JsonTexts::blanks() {
  return once(blanks_, "blanks", &JsonTexts::make_blanks);
}
ExpressionId JsonTexts::character() {
  return once(character_, "character", &JsonTexts::make_character);
}
ExpressionId JsonTexts::string() {
  return once(string_, "string", &JsonTexts::make_string);
}
ExpressionId JsonTexts::integer() {
  return once(integer_, "integer", &JsonTexts::make_integer);
}
ExpressionId JsonTexts::number() {
  return once(number_, "number", &JsonTexts::make_number);
}
ExpressionId JsonTexts::object() {
  return once(object_, "object", &JsonTexts::make_object);
}
ExpressionId JsonTexts::array() {
  return once(array_, "array", &JsonTexts::make_array);
}

ExpressionId JsonTexts::make_blanks() {
  Expressions& e = expressions_;
  const ExpressionId indentation = e.repeat(e.characters({{' ', ' '}, {'\t', '\t'}}), 0, kMaxIndentation);
  return e.choice({e.empty(), e.text(" "), e.sequence({e.text("\n"), indentation})});
}

ExpressionId JsonTexts::make_character() {
  Expressions& e = expressions_;
  const ExpressionId plain = e.characters({{0x20, '"' - 1}, {'"' + 1, '\\' - 1}, {'\\' + 1, 0x10FFFF}});
  const ExpressionId letter = e.characters(
      {{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}});
  const std::vector<CharacterRange> hex = {{'0', '9'}, {'a', 'f'}, {'A', 'F'}};
  const ExpressionId digit = e.characters(hex);
  // Surrogates come in pairs, or the text would be no Unicode.
  const ExpressionId d = e.characters({{'d', 'd'}, {'D', 'D'}});
  const ExpressionId not_d = e.characters({{'0', '9'}, {'a', 'c'}, {'e', 'f'}, {'A', 'C'}, {'E', 'F'}});
  const ExpressionId low = e.characters({{'c', 'f'}, {'C', 'F'}});
  const ExpressionId high = e.characters({{'8', '9'}, {'a', 'b'}, {'A', 'B'}});
  const ExpressionId before = e.characters({{'0', '7'}});
  const ExpressionId two = e.sequence({digit, digit});
  const ExpressionId unicode =
      e.sequence({e.text("u"), e.choice({e.sequence({not_d, digit, two}), e.sequence({d, before, two}),
                                         e.sequence({d, high, two, e.text("\\u"), d, low, two})})});
  return e.choice({plain, e.sequence({e.text("\\"), e.choice({letter, unicode})})});
}

ExpressionId JsonTexts::make_string() {
  return string(0, kUnbounded);
}

ExpressionId JsonTexts::string(uint32_t min_characters, uint32_t max_characters) {
  Expressions& e = expressions_;
  if (max_characters == 0) return e.text("\"\"");
  return e.sequence({e.text("\""), e.repeat(character(), min_characters, max_characters), e.text("\"")});
}

ExpressionId JsonTexts::make_integer() {
  Expressions& e = expressions_;
  const ExpressionId digit = e.characters({{'0', '9'}});
  const ExpressionId whole =
      e.sequence({e.characters({{'1', '9'}}), e.repeat(digit, 0, kMaxIntegerDigits - 1)});
  return e.choice({e.text("0"), whole, e.sequence({e.text("-"), whole})});
}

ExpressionId JsonTexts::make_number() {
  Expressions& e = expressions_;
  const ExpressionId digit = e.characters({{'0', '9'}});
  const ExpressionId whole = e.choice(
      {e.text("0"), e.sequence({e.characters({{'1', '9'}}), e.repeat(digit, 0, kMaxIntegerDigits - 1)})});
  const ExpressionId fraction = e.sequence({e.text("."), e.repeat(digit, 1, kMaxFractionDigits)});
  const ExpressionId exponent =
      e.sequence({e.characters({{'e', 'e'}, {'E', 'E'}}), e.optional(e.characters({{'+', '+'}, {'-', '-'}})),
                  e.repeat(digit, 1, kMaxExponentDigits)});
  return e.sequence({e.optional(e.text("-")), whole, e.optional(fraction), e.optional(exponent)});
}

ExpressionId JsonTexts::boolean() {
  return expressions_.choice({expressions_.text("true"), expressions_.text("false")});
}

ExpressionId JsonTexts::null() {
  return expressions_.text("null");
}

ExpressionId JsonTexts::value() {
  if (value_ == kNone) {
    const RuleId rule = expressions_.add_rule("value");
    value_ = expressions_.rule(rule);
    const ExpressionId alternatives[] = {object(), array(), string(), number(), boolean(), null()};
    expressions_.define(rule, expressions_.choice(alternatives));
  }
  return value_;
}

ExpressionId JsonTexts::member(ExpressionId key, ExpressionId value) {
  return expressions_.sequence({key, expressions_.text(":"), blanks(), value});
}

ExpressionId JsonTexts::make_object() {
  return list("{", member(string(), value()), "}");
}

ExpressionId JsonTexts::make_array() {
  return list("[", value(), "]");
}

ExpressionId JsonTexts::list(std::string_view open, ExpressionId item, std::string_view close, uint32_t min,
                             uint32_t max) {
  Expressions& e = expressions_;
  const ExpressionId end = e.sequence({blanks(), e.text(close)});
  if (max == 0) return e.sequence({e.text(open), end});
  const ExpressionId more = e.sequence({e.text(","), blanks(), item});
  const ExpressionId items = e.sequence(
      {blanks(), item, e.repeat(more, min > 0 ? min - 1 : 0, max == kUnbounded ? max : max - 1), end});
  return e.sequence({e.text(open), min == 0 ? e.choice({items, end}) : items});
}

}  // namespace oxbow::grammar
