#include <cmath>

#include "text/jinja/characters.h"
#include "text/jinja/operations.h"
#include "text/jinja/print.h"

namespace oxbow::text::jinja {

namespace {

constexpr size_t kWidest = 1000;

struct Field {
  bool left = false, zeros = false, plus = false, space = false;
  size_t width = 0;
  int precision = -1;
  char kind = 's';
};

// The part behind '%'; false when it is malformed. Takes it off the front of text.
bool read_field(std::string_view& text, Field& field) {
  const auto next = [&] { return text.empty() ? '\0' : text.front(); };
  for (; next() == '-' || next() == '0' || next() == '+' || next() == ' '; text.remove_prefix(1)) {
    field.left = field.left || next() == '-';
    field.zeros = field.zeros || next() == '0';
    field.plus = field.plus || next() == '+';
    field.space = field.space || next() == ' ';
  }
  const auto number = [&] {
    size_t value = 0;
    for (; next() >= '0' && next() <= '9' && value <= kWidest; text.remove_prefix(1))
      value = value * 10 + static_cast<size_t>(next() - '0');
    return value;
  };
  field.width = number();
  if (next() == '.') {
    text.remove_prefix(1);
    field.precision = static_cast<int>(number());
  }
  if (text.empty() || field.width > kWidest || field.precision > static_cast<int>(kWidest)) return false;
  field.kind = text.front();
  text.remove_prefix(1);
  return std::string_view("sridfFeEgGxX%").find(field.kind) != std::string_view::npos;
}

Result<std::string> number_body(const Value& value, const Field& field) {
  const int64_t* integer = value.get<int64_t>();
  const bool* truth = value.get<bool>();
  const double* real = value.get<double>();
  if (integer == nullptr && truth == nullptr && real == nullptr)
    return fail(ErrorKind::kInvalidInput, "%{} does not take {}", field.kind, value.type_name());
  const int64_t whole = integer != nullptr ? *integer : truth != nullptr ? (*truth ? 1 : 0) : 0;
  const double number = real != nullptr ? *real : static_cast<double>(whole);
  const int precision = field.precision >= 0 ? field.precision : 6;
  std::string body;
  switch (field.kind) {
    case 'd':
    case 'i':
      if (real != nullptr && !(std::abs(number) < 9.2e18))
        return fail(ErrorKind::kInvalidInput, "%d does not take {}", number);
      body = fmt::format("{}", real != nullptr ? static_cast<int64_t>(number) : whole);
      break;
    case 'x':
      body = fmt::format("{:x}", whole);
      break;
    case 'X':
      body = fmt::format("{:X}", whole);
      break;
    case 'e':
      body = fmt::format("{:.{}e}", number, precision);
      break;
    case 'E':
      body = fmt::format("{:.{}E}", number, precision);
      break;
    case 'g':
      body = fmt::format("{:.{}g}", number, precision);
      break;
    case 'G':
      body = fmt::format("{:.{}G}", number, precision);
      break;
    default:
      body = fmt::format("{:.{}f}", number, precision);
      break;
  }
  if (body.front() != '-' && (field.plus || field.space)) body.insert(0, 1, field.plus ? '+' : ' ');
  return body;
}

Result<std::string> field_text(Heap& heap, const Value& value, const Field& field) {
  std::string body;
  const bool is_text = field.kind == 's' || field.kind == 'r';
  if (field.kind == 's') {
    OXBOW_TRY(append_text(heap, value, body));
  } else if (field.kind == 'r') {
    OXBOW_TRY(append_repr(heap, value, body));
  } else {
    OXBOW_ASSIGN(body, number_body(value, field));
  }
  if (is_text && field.precision >= 0)
    body.resize(bytes_of_code_points(body, static_cast<size_t>(field.precision)));
  const size_t length = count_code_points(body);
  if (length >= field.width) return body;
  const size_t missing = field.width - length;
  if (field.left) return body.append(missing, ' ');
  if (!field.zeros || is_text) return body.insert(0, missing, ' ');
  const bool has_sign = body.front() == '-' || body.front() == '+' || body.front() == ' ';
  return body.insert(has_sign ? 1 : 0, missing, '0');
}

}  // namespace

Result<Value> format_percent(Heap& heap, std::string_view format, const Value& values) {
  const bool many = values.is_tuple();
  const size_t count = many ? values.sequence()->items.size() : 1;
  size_t used = 0;
  std::string out;
  while (!format.empty()) {
    const size_t mark = format.find('%');
    out += format.substr(0, mark);
    if (mark == std::string_view::npos) break;
    format.remove_prefix(mark + 1);
    Field field;
    if (!read_field(format, field))
      return fail(ErrorKind::kInvalidInput, "malformed or unsupported % in a format");
    if (field.kind == '%') {
      out += '%';
      continue;
    }
    if (used == count) return fail(ErrorKind::kInvalidInput, "not enough arguments for the format");
    OXBOW_ASSIGN(const std::string text,
                 field_text(heap, many ? values.sequence()->items[used] : values, field));
    ++used;
    out += text;
    OXBOW_TRY(heap.check_string(out.size()));
    OXBOW_TRY(heap.spend(1));
  }
  const bool container = values.dict() != nullptr || values.is_list();
  if (used < count && !container)
    return fail(ErrorKind::kInvalidInput, "the format does not use all of its arguments");
  return heap.string(std::move(out));
}

}  // namespace oxbow::text::jinja
