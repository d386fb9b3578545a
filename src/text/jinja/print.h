#pragma once
// str(), repr() and json.dumps() of Python, to the byte.

#include "text/jinja/heap.h"

namespace oxbow::text::jinja {

// What `{{ value }}` writes. Errors: kOutOfBudget.
Result<std::string> to_text(Heap& heap, const Value& value);
Status append_text(Heap& heap, const Value& value, std::string& out);
Status append_repr(Heap& heap, const Value& value, std::string& out);

// Shortest digits that read back as the number, the way Python lays them out: 1.0, 1e-05, 1e+16, inf, nan.
std::string float_text(double number);

struct JsonStyle {
  bool ascii = false;
  bool pretty = false;
  std::string indent;  // of one level, when pretty
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};
// Errors: values that JSON does not have (undefined, namespaces, iterators), kOutOfBudget.
Result<std::string> to_json(Heap& heap, const Value& value, const JsonStyle& style);

}  // namespace oxbow::text::jinja
