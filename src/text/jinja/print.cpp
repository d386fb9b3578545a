#include "text/jinja/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/jinja/characters.h"
#include "text/unicode.h"

namespace oxbow::text::jinja {

namespace {

void append_string_repr(std::string_view text, std::string& out) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  out += quote;
  while (!text.empty()) {
    const Character c = decode_character(text);
    const auto code = static_cast<uint32_t>(c.code_point);
    if (code == static_cast<unsigned char>(quote) || code == '\\') {
      out += '\\';
      out += static_cast<char>(code);
    } else if (code == '\n') {
      out += "\\n";
    } else if (code == '\r') {
      out += "\\r";
    } else if (code == '\t') {
      out += "\\t";
    } else if (is_printable(c.code_point)) {
      out.append(text.substr(0, c.size_bytes));
    } else if (code < 0x100) {
      out += fmt::format("\\x{:02x}", code);
    } else if (code < 0x10000) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out += fmt::format("\\U{:08x}", code);
    }
    text.remove_prefix(c.size_bytes);
  }
  out += quote;
}

struct Brackets {
  const char* open;
  const char* close;
};

Brackets brackets_of(SequenceKind kind) {
  switch (kind) {
    case SequenceKind::kTuple:
      return {"(", ")"};
    case SequenceKind::kKeys:
      return {"dict_keys([", "])"};
    case SequenceKind::kValues:
      return {"dict_values([", "])"};
    case SequenceKind::kItems:
      return {"dict_items([", "])"};
    default:
      return {"[", "]"};
  }
}

Status append_range_repr(Heap& heap, const Sequence& range, std::string& out);

Status append_sequence_repr(Heap& heap, const Sequence& sequence, std::string& out) {
  if (sequence.kind == SequenceKind::kIterator) {
    out += "<generator object>";
    return {};
  }
  if (sequence.kind == SequenceKind::kRange) return append_range_repr(heap, sequence, out);
  const Brackets brackets = brackets_of(sequence.kind);
  out += brackets.open;
  bool first = true;
  for (const Value& item : sequence.items) {
    if (!std::exchange(first, false)) out += ", ";
    OXBOW_TRY(append_repr(heap, item, out));
  }
  if (sequence.kind == SequenceKind::kTuple && sequence.items.size() == 1) out += ',';
  out += brackets.close;
  return {};
}

Status append_range_repr(Heap&, const Sequence& range, std::string& out) {
  // 128 bits: the end may lie one step beyond the largest integer.
  const auto at = [&](size_t i) { return static_cast<__int128>(*range.items[i].get<int64_t>()); };
  const size_t size = range.items.size();
  const __int128 first = size > 0 ? at(0) : 0, step = size > 1 ? at(1) - at(0) : 1;
  out += fmt::format("range({}, {}", first, size > 0 ? at(size - 1) + step : __int128{0});
  if (step != 1) out += fmt::format(", {}", step);
  out += ')';
  return {};
}

Status append_dict_repr(Heap& heap, const Dict& dict, std::string& out) {
  out += '{';
  bool first = true;
  for (const auto& [key, value] : dict.entries) {
    if (!std::exchange(first, false)) out += ", ";
    OXBOW_TRY(append_repr(heap, key, out));
    out += ": ";
    OXBOW_TRY(append_repr(heap, value, out));
  }
  out += '}';
  return {};
}

void append_function_repr(const Function& function, std::string& out) {
  if (function.kind == Function::Kind::kMacro) {
    out += fmt::format("<Macro '{}'>", function.name);
  } else {
    out += fmt::format("<function {}>", function.name);
  }
}

class JsonWriter {
 public:
  JsonWriter(Heap& heap, const JsonStyle& style) : heap_(heap), style_(style) {}
  Status write(const Value& value, unsigned level);
  std::string take() { return std::move(out_); }

 private:
  Status write_items(const std::vector<Value>& items, unsigned level);
  Status write_entries(const Dict& dict, unsigned level);
  Result<std::string> key_text(const Value& key);
  void write_string(std::string_view text);
  void write_float(double number);
  void new_line(unsigned level) {
    if (!style_.pretty) return;
    out_ += '\n';
    for (unsigned i = 0; i < level; ++i) out_ += style_.indent;
  }

  Heap& heap_;
  const JsonStyle& style_;
  std::string out_;
};

void JsonWriter::write_string(std::string_view text) {
  out_ += '"';
  while (!text.empty()) {
    const Character c = decode_character(text);
    const auto code = static_cast<uint32_t>(c.code_point);
    switch (code) {
      case '"':
        out_ += "\\\"";
        break;
      case '\\':
        out_ += "\\\\";
        break;
      case '\n':
        out_ += "\\n";
        break;
      case '\r':
        out_ += "\\r";
        break;
      case '\t':
        out_ += "\\t";
        break;
      case '\f':
        out_ += "\\f";
        break;
      case '\b':
        out_ += "\\b";
        break;
      default:
        if (code < 0x20 || (style_.ascii && code > 0x7E && code < 0x10000)) {
          out_ += fmt::format("\\u{:04x}", code);
        } else if (style_.ascii && code >= 0x10000) {
          out_ += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10),
                              0xDC00 + ((code - 0x10000) & 0x3FF));
        } else {
          out_.append(text.substr(0, c.size_bytes));
        }
    }
    text.remove_prefix(c.size_bytes);
  }
  out_ += '"';
}

void JsonWriter::write_float(double number) {
  if (std::isnan(number)) {
    out_ += "NaN";
  } else if (std::isinf(number)) {
    out_ += number < 0 ? "-Infinity" : "Infinity";
  } else {
    out_ += float_text(number);
  }
}

Result<std::string> JsonWriter::key_text(const Value& key) {
  if (key.string() != nullptr) return std::string(key.text());
  if (key.is_none()) return "null";
  if (const bool* truth = key.get<bool>()) return *truth ? "true" : "false";
  if (key.is<int64_t>() || key.is<double>()) return to_text(heap_, key);
  return fail(ErrorKind::kInvalidInput, "tojson: keys must be str, int, float, bool or None, not {}",
              key.type_name());
}

Status JsonWriter::write_items(const std::vector<Value>& items, unsigned level) {
  if (items.empty()) {
    out_ += "[]";
    return {};
  }
  out_ += '[';
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out_ += style_.item_separator;
    new_line(level + 1);
    OXBOW_TRY(write(items[i], level + 1));
  }
  new_line(level);
  out_ += ']';
  return {};
}

Status JsonWriter::write_entries(const Dict& dict, unsigned level) {
  if (dict.entries.empty()) {
    out_ += "{}";
    return {};
  }
  std::vector<std::pair<std::string, const Value*>> entries;
  for (const auto& [key, value] : dict.entries) {
    OXBOW_ASSIGN(std::string text, key_text(key));
    entries.emplace_back(std::move(text), &value);
  }
  if (style_.sort_keys) std::ranges::stable_sort(entries, {}, [](const auto& entry) { return entry.first; });
  out_ += '{';
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) out_ += style_.item_separator;
    new_line(level + 1);
    write_string(entries[i].first);
    out_ += style_.key_separator;
    OXBOW_TRY(write(*entries[i].second, level + 1));
  }
  new_line(level);
  out_ += '}';
  return {};
}

Status JsonWriter::write(const Value& value, unsigned level) {
  OXBOW_TRY(heap_.spend(1));
  OXBOW_TRY(heap_.check_string(out_.size()));
  if (value.is_none()) {
    out_ += "null";
  } else if (const bool* truth = value.get<bool>()) {
    out_ += *truth ? "true" : "false";
  } else if (const int64_t* integer = value.get<int64_t>()) {
    out_ += fmt::format("{}", *integer);
  } else if (const double* number = value.get<double>()) {
    write_float(*number);
  } else if (value.string() != nullptr) {
    write_string(value.text());
  } else if (value.is_list() || value.is_tuple()) {
    return write_items(value.sequence()->items, level);
  } else if (const Dict* dict = value.dict()) {
    return write_entries(*dict, level);
  } else {
    return fail(ErrorKind::kInvalidInput, "tojson: a value of type {} is not JSON", value.type_name());
  }
  return {};
}

}  // namespace

std::string float_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  std::string out;
  if (text.front() == '-') {
    out += '-';
    text.remove_prefix(1);
  }
  const size_t mark = text.find('e');
  std::string digits(1, text[0]);
  if (mark > 2) digits += text.substr(2, mark - 2);
  int exponent = 0;
  std::string_view power = text.substr(mark + 1);
  if (power.front() == '+') power.remove_prefix(1);
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  const auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (count > 1) out.append(".").append(digits, 1);
    return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1) digits.append(static_cast<size_t>(exponent + 2 - count), '0');
  const auto whole = static_cast<size_t>(exponent + 1);
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

Status append_repr(Heap& heap, const Value& value, std::string& out) {
  OXBOW_TRY(heap.spend(1));
  OXBOW_TRY(heap.check_string(out.size()));
  if (value.string() != nullptr) {
    append_string_repr(value.text(), out);
    return heap.spend_bytes(value.text().size());
  }
  if (value.is_undefined()) {
    out += "Undefined";
    return {};
  }
  return append_text(heap, value, out);
}

Status append_text(Heap& heap, const Value& value, std::string& out) {
  if (value.string() != nullptr) {
    out += value.text();
  } else if (value.is_none()) {
    out += "None";
  } else if (const bool* truth = value.get<bool>()) {
    out += *truth ? "True" : "False";
  } else if (const int64_t* integer = value.get<int64_t>()) {
    out += fmt::format("{}", *integer);
  } else if (const double* number = value.get<double>()) {
    out += float_text(*number);
  } else if (const Sequence* sequence = value.sequence()) {
    return append_sequence_repr(heap, *sequence, out);
  } else if (const Dict* dict = value.dict()) {
    return append_dict_repr(heap, *dict, out);
  } else if (value.name_space() != nullptr) {
    out += "<Namespace>";
  } else if (value.loop() != nullptr) {
    out += "<LoopContext>";
  } else if (const Function* function = value.function()) {
    append_function_repr(*function, out);
  }
  return {};
}

Result<std::string> to_text(Heap& heap, const Value& value) {
  std::string out;
  OXBOW_TRY(append_text(heap, value, out));
  return out;
}

Result<std::string> to_json(Heap& heap, const Value& value, const JsonStyle& style) {
  JsonWriter writer(heap, style);
  OXBOW_TRY(writer.write(value, 0));
  return writer.take();
}

}  // namespace oxbow::text::jinja
