#include "text/jinja/operations.h"

#include <algorithm>

#include "text/jinja/characters.h"
#include "text/jinja/loop.h"
#include "text/jinja/methods.h"
#include "text/jinja/number.h"

namespace oxbow::text::jinja {

namespace {

// The index of an item, negative ones from the end; false when it is outside.
bool resolve_index(int64_t index, size_t size, size_t& out) {
  const auto count = static_cast<int64_t>(size);
  if (index < 0) index += count;
  if (index < 0 || index >= count) return false;
  out = static_cast<size_t>(index);
  return true;
}

Result<bool> less_sequences(Heap& heap, const Sequence& a, const Sequence& b) {
  const size_t shared = std::min(a.items.size(), b.items.size());
  for (size_t i = 0; i < shared; ++i) {
    OXBOW_TRY(heap.spend(std::min(a.items[i].weight(), b.items[i].weight())));
    if (!equal(a.items[i], b.items[i])) return less(heap, a.items[i], b.items[i]);
  }
  return a.items.size() < b.items.size();
}

std::string_view container_name(const Value& value) {
  return value.is_none() ? "None" : value.type_name();
}

}  // namespace

tl::unexpected<Error> undefined_error(const Value& undefined) {
  const auto* held = undefined.get<Undefined>();
  if (held == nullptr || held->hint == nullptr) return fail(ErrorKind::kInvalidInput, "a value is undefined");
  return fail(ErrorKind::kInvalidInput, "{}", held->hint->text);
}

Result<bool> less(Heap& heap, const Value& left, const Value& right) {
  if (left.is_undefined()) return undefined_error(left);
  if (right.is_undefined()) return undefined_error(right);
  const Number a = number_of(left), b = number_of(right);
  if (a.valid && b.valid) {
    if (a.is_float || b.is_float) return a.real < b.real;
    return a.integer < b.integer;
  }
  if (left.string() != nullptr && right.string() != nullptr) {
    OXBOW_TRY(heap.spend_bytes(std::min(left.text().size(), right.text().size())));
    return left.text() < right.text();
  }
  if ((left.is_list() && right.is_list()) || (left.is_tuple() && right.is_tuple()))
    return less_sequences(heap, *left.sequence(), *right.sequence());
  return fail(ErrorKind::kInvalidInput, "{} and {} have no order", left.type_name(), right.type_name());
}

Result<bool> compare(Heap& heap, CompareOperator op, const Value& left, const Value& right) {
  switch (op) {
    case CompareOperator::kEqual:
    case CompareOperator::kNotEqual:
      OXBOW_TRY(heap.spend(std::min(left.weight(), right.weight())));
      return equal(left, right) == (op == CompareOperator::kEqual);
    case CompareOperator::kIn:
      return contains(heap, right, left);
    case CompareOperator::kNotIn: {
      OXBOW_ASSIGN(const bool inside, contains(heap, right, left));
      return !inside;
    }
    case CompareOperator::kLess:
      return less(heap, left, right);
    case CompareOperator::kGreater:
      return less(heap, right, left);
    case CompareOperator::kLessEqual:
    case CompareOperator::kGreaterEqual:
      break;
  }
  const bool at_most = op == CompareOperator::kLessEqual;
  OXBOW_ASSIGN(const bool strict, at_most ? less(heap, left, right) : less(heap, right, left));
  if (strict) return true;
  OXBOW_TRY(heap.spend(std::min(left.weight(), right.weight())));
  return equal(left, right);
}

Result<bool> contains(Heap& heap, const Value& container, const Value& item) {
  if (container.string() != nullptr) {
    if (item.is_undefined()) return undefined_error(item);
    if (item.string() == nullptr)
      return fail(ErrorKind::kInvalidInput, "'in <string>' requires a string, not {}", item.type_name());
    OXBOW_TRY(heap.spend_bytes(container.text().size()));
    return container.text().find(item.text()) != std::string_view::npos;
  }
  if (const Dict* dict = container.dict()) {
    OXBOW_TRY(heap.spend(dict->entries.size() / 8));
    if (!hashable(item)) return fail(ErrorKind::kInvalidInput, "unhashable type: '{}'", item.type_name());
    return dict->find(item) != nullptr;
  }
  if (!is_iterable(container))
    return fail(ErrorKind::kInvalidInput, "'in' does not look into {}", container.type_name());
  OXBOW_ASSIGN(const std::vector<Value> items, iterate(heap, container));
  for (const Value& candidate : items) {
    OXBOW_TRY(heap.spend(std::min(candidate.weight(), item.weight())));
    if (equal(candidate, item)) return true;
  }
  return false;
}

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.string() != nullptr || value.sequence() != nullptr ||
         value.dict() != nullptr || value.loop() != nullptr;
}

Result<std::vector<Value>> iterate(Heap& heap, const Value& value) {
  if (value.is_undefined()) return std::vector<Value>();
  if (const Sequence* sequence = value.sequence()) {
    OXBOW_TRY(heap.spend(sequence->items.size() / 8));
    const size_t from = std::exchange(sequence->taken,
                                      sequence->kind == SequenceKind::kIterator ? sequence->items.size() : 0);
    return std::vector<Value>(sequence->items.begin() + static_cast<std::ptrdiff_t>(from),
                              sequence->items.end());
  }
  std::vector<Value> items;
  if (const Dict* dict = value.dict()) {
    OXBOW_TRY(heap.spend(dict->entries.size() / 8));
    for (const auto& entry : dict->entries) items.push_back(entry.first);
    return items;
  }
  if (value.string() != nullptr) {
    OXBOW_TRY(heap.spend(value.string()->length));
    for (const std::string_view character : split_code_points(value.text())) {
      OXBOW_ASSIGN(Value item, heap.string(std::string(character)));
      items.push_back(std::move(item));
    }
    return items;
  }
  return fail(ErrorKind::kInvalidInput, "{} cannot be walked through", container_name(value));
}

Result<int64_t> length(const Value& value) {
  if (value.is_undefined()) return 0;
  if (value.string() != nullptr) return static_cast<int64_t>(value.string()->length);
  if (value.dict() != nullptr) return static_cast<int64_t>(value.dict()->entries.size());
  if (value.sequence() != nullptr && !value.is_iterator())
    return static_cast<int64_t>(value.sequence()->items.size());
  return fail(ErrorKind::kInvalidInput, "{} has no length", container_name(value));
}

Result<Value> attribute(Heap& heap, const Value& value, std::string_view name) {
  if (value.is_undefined()) return undefined_error(value);
  if (Namespace* space = value.name_space()) {
    if (const Value* found = space->find(name)) return *found;
  } else if (LoopState* loop = value.loop()) {
    OXBOW_ASSIGN(const auto found, loop->attribute(heap, name));
    if (found) return *found;
    if (name == "cycle") return heap.method(value, name);
  } else if (has_method(value, name)) {
    return heap.method(value, name);
  } else if (const Dict* dict = value.dict()) {
    OXBOW_TRY(heap.spend(dict->entries.size() / 8));
    if (const Value* found = dict->find(name)) return *found;
  }
  return heap.undefined(fmt::format("'{}' has no attribute '{}'", container_name(value), name));
}

Result<Value> subscript(Heap& heap, const Value& value, const Value& index) {
  if (value.is_undefined()) return undefined_error(value);
  const Number number = number_of(index);
  size_t at = 0;
  if (const Dict* dict = value.dict()) {
    OXBOW_TRY(heap.spend(dict->entries.size() / 8));
    const Value* found = hashable(index) ? dict->find(index) : nullptr;
    if (found != nullptr) return *found;
  } else if (number.valid && !number.is_float) {
    const Sequence* sequence = value.sequence();
    const bool indexed = value.is_list() || value.is_tuple() ||
                         (sequence != nullptr && sequence->kind == SequenceKind::kRange);
    if (indexed && resolve_index(number.integer, sequence->items.size(), at)) return sequence->items[at];
    if (const String* string = value.string();
        string != nullptr && resolve_index(number.integer, string->length, at)) {
      OXBOW_TRY(heap.spend_bytes(string->text.size()));
      std::string_view text = string->text;
      text.remove_prefix(string->length == text.size() ? at : bytes_of_code_points(text, at));
      return heap.string(std::string(text.substr(0, bytes_of_code_points(text.substr(0, 4), 1))));
    }
  }
  if (index.string() != nullptr) {
    if (value.name_space() != nullptr || value.loop() != nullptr || has_method(value, index.text()))
      return attribute(heap, value, index.text());
    return heap.undefined(fmt::format("'{}' has no attribute '{}'", container_name(value), index.text()));
  }
  return heap.undefined(fmt::format("'{}' has no such element", container_name(value)));
}

namespace {

struct Bounds {
  int64_t start, stop, step;
};

// The bounds of a slice over `size` items, the way Python clips them.
Result<Bounds> clip(const Value& start, const Value& stop, const Value& step, int64_t size) {
  const auto given = [](const Value& bound, int64_t otherwise) -> Result<int64_t> {
    if (bound.is_none()) return otherwise;
    const Number number = number_of(bound);
    if (bound.is_undefined()) return undefined_error(bound);
    if (!number.valid || number.is_float)
      return fail(ErrorKind::kInvalidInput, "slice bounds must be integers or none, not {}",
                  bound.type_name());
    return number.integer;
  };
  OXBOW_ASSIGN(const int64_t stride, given(step, 1));
  if (stride == 0) return fail(ErrorKind::kInvalidInput, "the step of a slice is zero");
  const int64_t lowest = stride < 0 ? -1 : 0, highest = stride < 0 ? size - 1 : size;
  const auto clipped = [&](int64_t bound) {
    return bound < 0 ? std::max(bound + size, lowest) : std::min(bound, highest);
  };
  OXBOW_ASSIGN(const int64_t first, given(start, INT64_MAX));
  OXBOW_ASSIGN(const int64_t last, given(stop, INT64_MAX));
  return Bounds{start.is_none() ? (stride < 0 ? highest : lowest) : clipped(first),
                stop.is_none() ? (stride < 0 ? lowest : highest) : clipped(last), stride};
}

// Calls take(i) for every index of a slice.
template <typename F>
void for_each_index(const Bounds& bounds, F take) {
  int64_t i = bounds.start;
  while (bounds.step > 0 ? i < bounds.stop : i > bounds.stop) {
    take(static_cast<size_t>(i));
    if (__builtin_add_overflow(i, bounds.step, &i)) return;
  }
}

}  // namespace

Result<Value> slice(Heap& heap, const Value& value, const Value& start, const Value& stop,
                    const Value& step) {
  if (value.is_undefined()) return undefined_error(value);
  if (const String* string = value.string()) {
    OXBOW_TRY(heap.spend_bytes(string->text.size()));
    OXBOW_ASSIGN(const Bounds bounds, clip(start, stop, step, static_cast<int64_t>(string->length)));
    const std::string_view text = string->text;
    std::string out;
    if (bounds.step == 1) {
      const auto first = static_cast<size_t>(bounds.start);
      const auto count = static_cast<size_t>(std::max<int64_t>(0, bounds.stop - bounds.start));
      const std::string_view tail = text.substr(bytes_of_code_points(text, first));
      return heap.string(std::string(tail.substr(0, bytes_of_code_points(tail, count))));
    }
    const auto characters = split_code_points(text);
    OXBOW_TRY(heap.spend(characters.size() / 4));
    for_each_index(bounds, [&](size_t i) { out += characters[i]; });
    return heap.string(std::move(out));
  }
  const Sequence* sequence = value.sequence();
  if (sequence == nullptr || !(value.is_list() || value.is_tuple() || sequence->kind == SequenceKind::kRange))
    return fail(ErrorKind::kInvalidInput, "{} cannot be sliced", container_name(value));
  OXBOW_TRY(heap.spend(sequence->items.size() / 8));
  OXBOW_ASSIGN(const Bounds bounds, clip(start, stop, step, static_cast<int64_t>(sequence->items.size())));
  std::vector<Value> items;
  for_each_index(bounds, [&](size_t i) { items.push_back(sequence->items[i]); });
  return heap.sequence(sequence->kind, std::move(items));
}

}  // namespace oxbow::text::jinja
