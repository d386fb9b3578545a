// Expressions of a template.

#include "text/jinja/filters.h"
#include "text/jinja/interpreter_state.h"
#include "text/jinja/operations.h"
#include "text/jinja/print.h"
#include "text/jinja/tests.h"

namespace oxbow::text::jinja {

Result<Value> Interpreter::evaluate(const Expression& expression) {
  const Level level{depth_};
  Status entered = enter_level();
  if (!entered) return locate(std::move(entered).error(), expression.line);
  auto value = std::visit([&](const auto& n) { return node(n); }, expression.node);
  if (!value) return locate(std::move(value).error(), expression.line);
  return value;
}

Result<Value> Interpreter::evaluate_or(const ExpressionPtr& expression, Value otherwise) {
  if (expression == nullptr) return otherwise;
  return evaluate(*expression);
}

Result<Value> Interpreter::node(const Name& n) {
  if (const Value* found = scope_->find(n.name)) return *found;
  return heap_.undefined(fmt::format("'{}' is undefined", n.name));
}

Result<Value> Interpreter::node(const SequenceLiteral& n) {
  std::vector<Value> items;
  for (const auto& item : n.items) {
    OXBOW_ASSIGN(Value value, evaluate(item));
    items.push_back(std::move(value));
  }
  return heap_.sequence(n.kind, std::move(items));
}

Result<Value> Interpreter::node(const DictLiteral& n) {
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [key_node, value_node] : n.entries) {
    OXBOW_ASSIGN(Value key, evaluate(key_node));
    OXBOW_ASSIGN(Value value, evaluate(value_node));
    entries.emplace_back(std::move(key), std::move(value));
  }
  return heap_.dict(std::move(entries));
}

Result<Value> Interpreter::node(const Unary& n) {
  OXBOW_ASSIGN(const Value operand, evaluate(n.operand));
  return negate(operand, n.op);
}

Result<Value> Interpreter::node(const Binary& n) {
  OXBOW_ASSIGN(const Value left, evaluate(n.left));
  OXBOW_ASSIGN(const Value right, evaluate(n.right));
  return apply(heap_, n.op, left, right);
}

Result<Value> Interpreter::node(const Logic& n) {
  OXBOW_ASSIGN(Value left, evaluate(n.left));
  if (left.truthy() != n.is_and) return left;
  return evaluate(n.right);
}

Result<Value> Interpreter::node(const Comparison& n) {
  OXBOW_ASSIGN(Value left, evaluate(n.first));
  for (const auto& [op, operand] : n.rest) {
    OXBOW_ASSIGN(Value right, evaluate(operand));
    OXBOW_ASSIGN(const bool holds, compare(heap_, op, left, right));
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Interpreter::node(const Concatenation& n) {
  std::string out;
  for (const auto& part : n.parts) {
    OXBOW_ASSIGN(const Value value, evaluate(part));
    OXBOW_TRY(append_text(heap_, value, out));
    OXBOW_TRY(heap_.check_string(out.size()));
  }
  return heap_.string(std::move(out));
}

Result<Value> Interpreter::node(const Conditional& n) {
  OXBOW_ASSIGN(const Value condition, evaluate(n.condition));
  if (condition.truthy()) return evaluate(n.then);
  if (n.otherwise != nullptr) return evaluate(n.otherwise);
  return heap_.undefined("the condition is false and there is no else");
}

Result<Value> Interpreter::node(const Attribute& n) {
  OXBOW_ASSIGN(const Value object, evaluate(n.object));
  return attribute(heap_, object, n.name);
}

Result<Value> Interpreter::node(const Subscript& n) {
  OXBOW_ASSIGN(const Value object, evaluate(n.object));
  OXBOW_ASSIGN(const Value index, evaluate(n.index));
  return subscript(heap_, object, index);
}

Result<Value> Interpreter::node(const Slice& n) {
  OXBOW_ASSIGN(const Value object, evaluate(n.object));
  OXBOW_ASSIGN(const Value start, evaluate_or(n.start, None{}));
  OXBOW_ASSIGN(const Value stop, evaluate_or(n.stop, None{}));
  OXBOW_ASSIGN(const Value step, evaluate_or(n.step, None{}));
  return slice(heap_, object, start, stop, step);
}

Result<Value> Interpreter::filter_chain(const FilterCall& n, const Value* text) {
  Value input;
  if (n.operand == nullptr) {
    if (text != nullptr) input = *text;
  } else if (text != nullptr && std::holds_alternative<FilterCall>(n.operand->node)) {
    OXBOW_ASSIGN(input, filter_chain(std::get<FilterCall>(n.operand->node), text));
  } else {
    OXBOW_ASSIGN(input, evaluate(n.operand));
  }
  OXBOW_ASSIGN(const Arguments given, arguments(n.arguments));
  return find_filter(n.name)(heap_, input, given);
}

Result<Value> Interpreter::node(const TestCall& n) {
  OXBOW_ASSIGN(const Value operand, evaluate(n.operand));
  OXBOW_ASSIGN(const Arguments given, arguments(n.arguments));
  OXBOW_ASSIGN(const bool holds, find_test(n.name)(heap_, operand, given));
  return Value(holds);
}

}  // namespace oxbow::text::jinja
