#include "text/jinja/value.h"

#include <algorithm>

#include "text/jinja/loop.h"

namespace oxbow::text::jinja {

namespace {

// Booleans count as 0 and 1.
bool as_integer(const Value& value, int64_t& out) {
  if (const bool* truth = value.get<bool>()) {
    out = *truth ? 1 : 0;
    return true;
  }
  if (const int64_t* integer = value.get<int64_t>()) {
    out = *integer;
    return true;
  }
  return false;
}

bool equal_entries(const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  return std::ranges::all_of(a.entries, [&](const auto& entry) {
    const Value* other = b.find(entry.first);
    return other != nullptr && equal(entry.second, *other);
  });
}

// Lists equal lists, tuples tuples, ranges ranges; the rest is equal to itself alone.
bool equal_sequences(const Sequence& a, const Sequence& b) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.kind == SequenceKind::kIterator || a.kind == SequenceKind::kValues) return false;
  return std::ranges::equal(a.items, b.items, equal);
}

}  // namespace

const Value* Dict::find(const Value& key) const {
  const auto found =
      std::ranges::find_if(entries, [&](const auto& entry) { return equal(entry.first, key); });
  return found != entries.end() ? &found->second : nullptr;
}

const Value* Dict::find(std::string_view key) const {
  const auto found = std::ranges::find_if(entries, [&](const auto& entry) {
    return entry.first.string() != nullptr && entry.first.text() == key;
  });
  return found != entries.end() ? &found->second : nullptr;
}

Value* Namespace::find(std::string_view name) {
  const auto found = std::ranges::find_if(attributes, [&](const auto& entry) { return entry.first == name; });
  return found != attributes.end() ? &found->second : nullptr;
}

bool Value::truthy() const {
  if (is_undefined() || is_none()) return false;
  if (const bool* truth = get<bool>()) return *truth;
  if (const int64_t* integer = get<int64_t>()) return *integer != 0;
  if (const double* number = get<double>()) return *number != 0;
  if (string() != nullptr) return !text().empty();
  if (const Sequence* items = sequence())
    return items->kind == SequenceKind::kIterator || !items->items.empty();
  if (dict() != nullptr) return !dict()->entries.empty();
  return true;
}

unsigned Value::depth() const {
  if (const Sequence* items = sequence()) return items->depth;
  if (dict() != nullptr) return dict()->depth;
  if (loop() != nullptr) return loop()->depth;
  if (function() != nullptr) return function()->depth;
  return 1;
}

uint64_t Value::weight() const {
  if (const Sequence* items = sequence()) return items->weight;
  if (dict() != nullptr) return dict()->weight;
  if (string() != nullptr) return 1 + text().size() / 64;
  return 1;
}

std::string_view Value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (is<bool>()) return "bool";
  if (is<int64_t>()) return "int";
  if (is<double>()) return "float";
  if (string() != nullptr) return "str";
  if (dict() != nullptr) return "dict";
  if (name_space() != nullptr) return "Namespace";
  if (loop() != nullptr) return "LoopContext";
  if (sequence() == nullptr) return "function";
  switch (sequence()->kind) {
    case SequenceKind::kList:
      return "list";
    case SequenceKind::kTuple:
      return "tuple";
    case SequenceKind::kKeys:
      return "dict_keys";
    case SequenceKind::kValues:
      return "dict_values";
    case SequenceKind::kItems:
      return "dict_items";
    case SequenceKind::kRange:
      return "range";
    case SequenceKind::kIterator:
      return "generator";
  }
  return "object";
}

bool equal(const Value& a, const Value& b) {
  int64_t left = 0, right = 0;
  const bool a_integer = as_integer(a, left), b_integer = as_integer(b, right);
  const double *a_float = a.get<double>(), *b_float = b.get<double>();
  if (a_integer && b_integer) return left == right;
  if ((a_integer || a_float != nullptr) && (b_integer || b_float != nullptr))
    return (a_integer ? static_cast<double>(left) : *a_float) ==
           (b_integer ? static_cast<double>(right) : *b_float);
  if (a.data().index() != b.data().index()) return false;
  if (a.is_undefined() || a.is_none()) return true;
  if (a.string() != nullptr) return a.text() == b.text();
  if (a.sequence() != nullptr) return equal_sequences(*a.sequence(), *b.sequence());
  if (a.dict() != nullptr) return equal_entries(*a.dict(), *b.dict());
  if (a.name_space() != nullptr) return a.name_space() == b.name_space();
  if (a.loop() != nullptr) return a.loop() == b.loop();
  if (a.function() != nullptr) return a.function() == b.function();
  return false;
}

}  // namespace oxbow::text::jinja
