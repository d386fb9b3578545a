#include "text/jinja/operations.h"

#include <algorithm>
#include <cmath>

#include "text/jinja/characters.h"
#include "text/jinja/loop.h"
#include "text/jinja/methods.h"

namespace oxbow::text::jinja {

namespace {

// A number: an integer (booleans count) or a float.
struct Number {
  bool valid = false, is_float = false;
  int64_t integer = 0;
  double real = 0;
};

Number number_of(const Value& value) {
  if (const bool* truth = value.get<bool>()) return {true, false, *truth ? 1 : 0, *truth ? 1.0 : 0.0};
  if (const int64_t* i = value.get<int64_t>()) return {true, false, *i, static_cast<double>(*i)};
  if (const double* d = value.get<double>()) return {true, true, 0, *d};
  return {};
}

constexpr std::string_view kOperatorTexts[] = {"+", "-", "*", "/", "//", "%", "**"};

Result<Value> too_large() {
  return fail(ErrorKind::kInvalidInput, "an integer does not fit 64 bits");
}
Result<Value> division_by_zero() {
  return fail(ErrorKind::kInvalidInput, "division by zero");
}

Result<Value> integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return division_by_zero();
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return too_large();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return too_large();
  }
  return Value(result);
}

Result<Value> integer_arithmetic(BinaryOperator op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case BinaryOperator::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return too_large();
      return Value(result);
    case BinaryOperator::kSubtract:
      if (__builtin_sub_overflow(a, b, &result)) return too_large();
      return Value(result);
    case BinaryOperator::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) return too_large();
      return Value(result);
    case BinaryOperator::kPower:
      return integer_power(a, b);
    default:
      break;
  }
  if (b == 0) return division_by_zero();
  if (op == BinaryOperator::kDivide) return Value(static_cast<double>(a) / static_cast<double>(b));
  if (b == -1) {  // the one division that overflows
    if (op == BinaryOperator::kModulo) return Value(int64_t{0});
    if (__builtin_sub_overflow(int64_t{0}, a, &result)) return too_large();
    return Value(result);
  }
  const int64_t remainder = a % b;
  const bool rounds_down = remainder != 0 && (remainder < 0) != (b < 0);
  if (op == BinaryOperator::kModulo) return Value(rounds_down ? remainder + b : remainder);
  return Value(a / b - (rounds_down ? 1 : 0));
}

Result<Value> float_arithmetic(BinaryOperator op, double a, double b) {
  switch (op) {
    case BinaryOperator::kAdd:
      return Value(a + b);
    case BinaryOperator::kSubtract:
      return Value(a - b);
    case BinaryOperator::kMultiply:
      return Value(a * b);
    case BinaryOperator::kPower:
      return Value(std::pow(a, b));
    default:
      break;
  }
  if (b == 0) return division_by_zero();
  if (op == BinaryOperator::kDivide) return Value(a / b);
  double remainder = std::fmod(a, b);
  if (remainder != 0 && (remainder < 0) != (b < 0)) remainder += b;
  if (op == BinaryOperator::kModulo) return Value(remainder != 0 ? remainder : std::copysign(0.0, b));
  return Value(std::round((a - remainder) / b));
}

Result<Value> repeat(Heap& heap, const Value& value, int64_t count) {
  const auto times = static_cast<size_t>(std::max<int64_t>(count, 0));
  if (value.string() != nullptr) {
    const std::string_view text = value.text();
    if (!text.empty())
      OXBOW_TRY(heap.check_string(std::min(times, heap.limits().string_bytes + 1) * text.size()));
    std::string out;
    for (size_t i = 0; i < times && !text.empty(); ++i) out += text;
    return heap.string(std::move(out));
  }
  const Sequence& sequence = *value.sequence();
  std::vector<Value> items;
  if (!sequence.items.empty()) {
    if (times > heap.limits().steps / sequence.items.size())
      return fail(ErrorKind::kOutOfBudget, "a {} would be too long", value.type_name());
    OXBOW_TRY(heap.spend(times * sequence.items.size()));
    for (size_t i = 0; i < times; ++i)
      items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  }
  return heap.sequence(sequence.kind, std::move(items));
}

Result<Value> join(Heap& heap, const Value& left, const Value& right) {
  if (left.string() != nullptr) {
    OXBOW_TRY(heap.check_string(left.text().size() + right.text().size()));
    return heap.string(std::string(left.text()).append(right.text()));
  }
  std::vector<Value> items = left.sequence()->items;
  const std::vector<Value>& more = right.sequence()->items;
  OXBOW_TRY(heap.spend((items.size() + more.size()) / 8));
  items.insert(items.end(), more.begin(), more.end());
  return heap.sequence(left.sequence()->kind, std::move(items));
}

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

Result<Value> apply(Heap& heap, BinaryOperator op, const Value& left, const Value& right) {
  if (op == BinaryOperator::kModulo && left.string() != nullptr)
    return format_percent(heap, left.text(), right);
  if (left.is_undefined()) return undefined_error(left);
  if (right.is_undefined()) return undefined_error(right);
  const Number a = number_of(left), b = number_of(right);
  if (a.valid && b.valid) {
    if (a.is_float || b.is_float) return float_arithmetic(op, a.real, b.real);
    return integer_arithmetic(op, a.integer, b.integer);
  }
  const auto growable = [](const Value& v) { return v.string() != nullptr || v.is_list() || v.is_tuple(); };
  if (op == BinaryOperator::kAdd && growable(left) && left.type_name() == right.type_name())
    return join(heap, left, right);
  if (op == BinaryOperator::kMultiply && growable(left) && b.valid && !b.is_float)
    return repeat(heap, left, b.integer);
  if (op == BinaryOperator::kMultiply && growable(right) && a.valid && !a.is_float)
    return repeat(heap, right, a.integer);
  return fail(ErrorKind::kInvalidInput, "operator {} does not take {} and {}",
              kOperatorTexts[static_cast<size_t>(op)], left.type_name(), right.type_name());
}

Result<Value> negate(const Value& value, UnaryOperator op) {
  if (op == UnaryOperator::kNot) return Value(!value.truthy());
  if (value.is_undefined()) return undefined_error(value);
  const Number number = number_of(value);
  if (!number.valid) return fail(ErrorKind::kInvalidInput, "a sign does not go with {}", value.type_name());
  if (number.is_float) return Value(op == UnaryOperator::kMinus ? -number.real : number.real);
  if (op == UnaryOperator::kPlus) return Value(number.integer);
  return integer_arithmetic(BinaryOperator::kSubtract, 0, number.integer);
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
