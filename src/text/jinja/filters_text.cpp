#include <algorithm>

#include "text/jinja/characters.h"
#include "text/jinja/filters.h"
#include "text/jinja/methods.h"
#include "text/jinja/operations.h"
#include "text/jinja/print.h"
#include "text/unicode.h"

namespace oxbow::text::jinja {

namespace {

// The input as a string: what it prints when it is none.
Result<Value> as_string(Heap& heap, const Value& input) {
  if (input.string() != nullptr) return input;
  OXBOW_ASSIGN(std::string text, to_text(heap, input));
  return heap.string(std::move(text));
}

// A filter that is a method of the input's text.
template <typename Name>
Result<Value> by_method(Heap& heap, const Value& input, const Arguments& given, Name name) {
  OXBOW_ASSIGN(const Value text, as_string(heap, input));
  return call_method(heap, text, name, given);
}

// The filter `title` begins words after white space and opening brackets and hyphens, unlike str.title().
Result<Value> title(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_TRY(Bound::bind("title", given, {}));
  OXBOW_ASSIGN(const Value value, as_string(heap, input));
  std::string out;
  bool starts = true;
  for (const std::string_view character : split_code_points(value.text())) {
    out += starts ? to_upper(character) : to_lower(character);
    starts = is_space(decode_character(character).code_point) ||
             std::string_view("-({[<").find(character) != std::string_view::npos;
  }
  return heap.string(std::move(out));
}

Result<Value> trim(Heap& heap, const Value& input, const Arguments& given) {
  return by_method(heap, input, given, "strip");
}

Result<Value> replace(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("replace", given, {"old", "new", "count"}, 2));
  Arguments texts;
  for (size_t i = 0; i < 2; ++i) {
    OXBOW_ASSIGN(Value text, as_string(heap, *bound[i]));
    texts.positional.push_back(std::move(text));
  }
  if (bound[2] != nullptr && !bound[2]->is_none()) texts.positional.push_back(*bound[2]);
  return by_method(heap, input, texts, "replace");
}

Result<Value> indent(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("indent", given, {"width", "first", "blank"}));
  std::string margin;
  if (bound[0] != nullptr && bound[0]->string() != nullptr) {
    margin = bound[0]->text();
  } else {
    OXBOW_ASSIGN(const int64_t width, bound.integer(0, 4));
    if (width > 1000) return fail(ErrorKind::kInvalidInput, "indent: a width of {} is too much", width);
    margin.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  OXBOW_ASSIGN(const Value value, as_string(heap, input));
  std::string out;
  std::string_view text = value.text();
  for (bool first_line = true;; first_line = false) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (first_line ? bound.truthy(1) : !line.empty() || bound.truthy(2)) out += margin;
    out += line;
    OXBOW_TRY(heap.check_string(out.size()));
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return heap.string(std::move(out));
}

Result<Value> escape(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_TRY(Bound::bind("escape", given, {}));
  OXBOW_ASSIGN(const Value value, as_string(heap, input));
  std::string out;
  for (const char c : value.text()) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&#34;";
        break;
      default:
        out += c;
    }
  }
  return heap.string(std::move(out));
}

Result<Value> string(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_TRY(Bound::bind("string", given, {}));
  return as_string(heap, input);
}

Result<Value> word_count(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_TRY(Bound::bind("wordcount", given, {}));
  OXBOW_ASSIGN(const Value value, as_string(heap, input));
  int64_t count = 0;
  bool inside = false;
  for (const std::string_view character : split_code_points(value.text())) {
    const char32_t c = decode_character(character).code_point;
    const bool word = is_letter(c) || is_decimal(c) || c == '_';
    if (word && !inside) ++count;
    inside = word;
  }
  return Value(count);
}

Result<Value> format(Heap& heap, const Value& input, const Arguments& given) {
  if (!given.named.empty()) return fail(ErrorKind::kUnsupported, "format: names are not supported");
  OXBOW_ASSIGN(const Value text, as_string(heap, input));
  OXBOW_ASSIGN(const Value values, heap.tuple(given.positional));
  return format_percent(heap, text.text(), values);
}

const NamedFilter kTextFilters[] = {
    {"upper", [](Heap& h, const Value& v, const Arguments& a) { return by_method(h, v, a, "upper"); }},
    {"lower", [](Heap& h, const Value& v, const Arguments& a) { return by_method(h, v, a, "lower"); }},
    {"capitalize",
     [](Heap& h, const Value& v, const Arguments& a) { return by_method(h, v, a, "capitalize"); }},
    {"center", [](Heap& h, const Value& v, const Arguments& a) { return by_method(h, v, a, "center"); }},
    {"title", title},
    {"trim", trim},
    {"replace", replace},
    {"indent", indent},
    {"escape", escape},
    {"e", escape},
    {"string", string},
    {"safe", string},
    {"wordcount", word_count},
    {"format", format},
};

}  // namespace

std::span<const NamedFilter> text_filters() {
  return kTextFilters;
}

}  // namespace oxbow::text::jinja
