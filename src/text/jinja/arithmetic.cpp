#include <algorithm>
#include <cmath>

#include "text/jinja/number.h"
#include "text/jinja/operations.h"

namespace oxbow::text::jinja {

namespace {

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

}  // namespace

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

}  // namespace oxbow::text::jinja
