#include "text/jinja/filters.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/jinja/characters.h"
#include "text/jinja/operations.h"
#include "text/jinja/print.h"

namespace oxbow::text::jinja {

namespace {

// float(text): white space and single underscores between digits are fine.
bool parse_float(std::string_view text, double& out) {
  std::string digits(strip(text));
  std::erase(digits, '_');
  std::string_view rest = digits;
  const bool minus = rest.starts_with('-');
  if (minus || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest.empty() || rest.front() == '-' || rest.front() == '+') return false;
  const auto [stopped, code] = std::from_chars(rest.data(), rest.data() + rest.size(), out);
  if (stopped != rest.data() + rest.size() || rest.find('(') != std::string_view::npos) return false;
  if (code == std::errc::result_out_of_range) out = HUGE_VAL;
  if (minus) out = -out;
  return true;
}

bool parse_integer(std::string_view text, int base, int64_t& out) {
  std::string digits(strip(text));
  std::erase(digits, '_');
  std::string_view rest = digits;
  if (rest.starts_with('+') && rest.size() > 1 && rest[1] != '-') rest.remove_prefix(1);
  const auto [stopped, code] = std::from_chars(rest.data(), rest.data() + rest.size(), out, base);
  return code == std::errc() && stopped == rest.data() + rest.size() && !rest.empty();
}

bool float_to_integer(double number, int64_t& out) {
  if (!(std::abs(number) < 9.2e18)) return false;
  out = static_cast<int64_t>(number);
  return true;
}

Result<Value> to_integer(Heap&, const Value& input, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("int", given, {"default", "base"}));
  OXBOW_ASSIGN(const int64_t base, bound.integer(1, 10));
  if (base < 2 || base > 36) return fail(ErrorKind::kInvalidInput, "int: the base {} is not supported", base);
  int64_t integer = 0;
  double number = 0;
  if (input.is<int64_t>()) return input;
  if (const bool* truth = input.get<bool>()) return Value(int64_t{*truth ? 1 : 0});
  if (const double* real = input.get<double>(); real != nullptr && float_to_integer(*real, integer))
    return Value(integer);
  if (input.string() != nullptr) {
    if (parse_integer(input.text(), static_cast<int>(base), integer)) return Value(integer);
    if (parse_float(input.text(), number) && float_to_integer(number, integer)) return Value(integer);
  }
  return bound[0] != nullptr ? *bound[0] : Value(int64_t{0});
}

Result<Value> to_float(Heap&, const Value& input, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("float", given, {"default"}));
  double number = 0;
  if (input.is<double>()) return input;
  if (const int64_t* integer = input.get<int64_t>()) return Value(static_cast<double>(*integer));
  if (const bool* truth = input.get<bool>()) return Value(*truth ? 1.0 : 0.0);
  if (input.string() != nullptr && parse_float(input.text(), number)) return Value(number);
  return bound[0] != nullptr ? *bound[0] : Value(0.0);
}

Result<Value> absolute(Heap&, const Value& input, const Arguments& given) {
  OXBOW_TRY(Bound::bind("abs", given, {}));
  if (input.is_undefined()) return undefined_error(input);
  if (const double* number = input.get<double>()) return Value(std::abs(*number));
  if (const int64_t* integer = input.get<int64_t>())
    return *integer < 0 ? negate(input, UnaryOperator::kMinus) : Result<Value>(input);
  if (const bool* truth = input.get<bool>()) return Value(int64_t{*truth ? 1 : 0});
  return fail(ErrorKind::kInvalidInput, "abs does not take {}", input.type_name());
}

// Rounds to decimal digits by way of the shortest exact text, as Python does.
double round_common(double number, int64_t precision) {
  if (!std::isfinite(number) || precision > 300) return number;
  if (precision < 0) {
    const double scale = std::pow(10.0, static_cast<double>(-std::max<int64_t>(precision, -300)));
    return std::nearbyint(number / scale) * scale;
  }
  const std::string text = fmt::format("{:.{}f}", number, precision);
  double out = number;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

Result<Value> round_filter(Heap&, const Value& input, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("round", given, {"precision", "method"}));
  OXBOW_ASSIGN(const int64_t precision, bound.integer(0, 0));
  OXBOW_ASSIGN(const std::string_view method, bound.text(1, "common"));
  double number = 0;
  if (input.is_undefined()) return undefined_error(input);
  if (const double* real = input.get<double>()) {
    number = *real;
  } else if (const int64_t* integer = input.get<int64_t>()) {
    if (method == "common")
      return precision >= 0
                 ? input
                 : Value(static_cast<int64_t>(round_common(static_cast<double>(*integer), precision)));
    number = static_cast<double>(*integer);
  } else {
    return fail(ErrorKind::kInvalidInput, "round does not take {}", input.type_name());
  }
  if (method == "common") return Value(round_common(number, precision));
  if (method != "ceil" && method != "floor")
    return fail(ErrorKind::kInvalidInput, "round: the method must be common, ceil or floor");
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = number * scale;
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Result<Value> default_filter(Heap&, const Value& input, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("default", given, {"default_value", "boolean"}));
  if (!input.is_undefined() && !(bound.truthy(1) && !input.truthy())) return input;
  return bound[0] != nullptr ? *bound[0] : constant_string("");
}

Result<Value> to_json_filter(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound,
               Bound::bind("tojson", given, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ascii = bound.truthy(0);
  style.sort_keys = bound.truthy(3);
  if (bound[1] != nullptr && !bound[1]->is_none()) {
    style.pretty = true;
    style.item_separator.assign(1, ',');
    if (bound[1]->string() != nullptr) {
      style.indent = bound[1]->text();
    } else {
      OXBOW_ASSIGN(const int64_t width, bound.integer(1, 0));
      style.indent.assign(static_cast<size_t>(std::clamp<int64_t>(width, 0, 100)), ' ');
    }
    if (style.indent.size() > 100) return fail(ErrorKind::kInvalidInput, "tojson: the indent is too wide");
  }
  if (bound[2] != nullptr && !bound[2]->is_none()) {
    OXBOW_ASSIGN(const auto separators, iterate(heap, *bound[2]));
    if (separators.size() != 2 || separators[0].string() == nullptr || separators[1].string() == nullptr)
      return fail(ErrorKind::kInvalidInput, "tojson: separators must be two strings");
    style.item_separator = separators[0].text();
    style.key_separator = separators[1].text();
  }
  OXBOW_ASSIGN(std::string text, to_json(heap, input, style));
  return heap.string(std::move(text));
}

Result<Value> attribute_filter(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("attr", given, {"name"}, 1));
  OXBOW_ASSIGN(const std::string_view name, bound.text(0, ""));
  if (input.dict() != nullptr && !input.is_undefined())
    return heap.undefined(fmt::format("no attribute '{}'", name));
  return attribute(heap, input, name);
}

const NamedFilter kNumberFilters[] = {
    {"int", to_integer},        {"float", to_float},         {"abs", absolute},
    {"round", round_filter},    {"default", default_filter}, {"d", default_filter},
    {"tojson", to_json_filter}, {"attr", attribute_filter},
};

}  // namespace

std::span<const NamedFilter> number_filters() {
  return kNumberFilters;
}

Filter find_filter(std::string_view name) {
  for (const auto table : {text_filters(), number_filters(), sequence_filters()}) {
    const auto found = std::ranges::find(table, name, &NamedFilter::name);
    if (found != table.end()) return found->run;
  }
  return nullptr;
}

}  // namespace oxbow::text::jinja
