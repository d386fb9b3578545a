#pragma once
// The syntax tree of a template. Depth is bounded by Limits::syntax_depth, so walking it by recursion is
// safe.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/value.h"

namespace oxbow::text::jinja {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<const Expression>;
using Block = std::vector<Statement>;

struct ArgumentNodes {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr spread, named_spread;  // *a and **b; may be null
};

struct Constant {
  Value value;
};
struct Name {
  std::string name;
};
struct SequenceLiteral {
  SequenceKind kind;  // list or tuple
  std::vector<ExpressionPtr> items;
};
struct DictLiteral {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};
enum class UnaryOperator : uint8_t { kNot, kMinus, kPlus };
struct Unary {
  UnaryOperator op;
  ExpressionPtr operand;
};
enum class BinaryOperator : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };
struct Binary {
  BinaryOperator op;
  ExpressionPtr left, right;
};
struct Logic {
  bool is_and;
  ExpressionPtr left, right;
};
enum class CompareOperator : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};
struct Comparison {
  ExpressionPtr first;
  std::vector<std::pair<CompareOperator, ExpressionPtr>> rest;
};
struct Concatenation {
  std::vector<ExpressionPtr> parts;
};
struct Conditional {
  ExpressionPtr condition, then, otherwise;  // otherwise may be null
};
struct Attribute {
  ExpressionPtr object;
  std::string name;
};
struct Subscript {
  ExpressionPtr object, index;
};
struct Slice {
  ExpressionPtr object, start, stop, step;  // bounds may be null
};
struct Call {
  ExpressionPtr callee;
  ArgumentNodes arguments;
};
struct FilterCall {
  ExpressionPtr operand;  // null in a filter block: the text of the block
  std::string name;
  ArgumentNodes arguments;
};
struct TestCall {
  ExpressionPtr operand;
  std::string name;
  ArgumentNodes arguments;
};

struct Expression {
  uint32_t line;
  unsigned depth;
  std::variant<Constant, Name, SequenceLiteral, DictLiteral, Unary, Binary, Logic, Comparison, Concatenation,
               Conditional, Attribute, Subscript, Slice, Call, FilterCall, TestCall>
      node;
};

// Where a value goes: a name, an attribute of a namespace, or several of these.
struct Target {
  std::string name;       // the namespace's name when attribute is not empty
  std::string attribute;  // of `set ns.attribute`
  std::vector<Target> parts;
};

struct Macro {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<ExpressionPtr> defaults;  // of the last parameters
  Block body;
};

struct Text {
  std::string text;
};
struct Print {
  ExpressionPtr value;
};
struct If {
  std::vector<std::pair<ExpressionPtr, Block>> branches;
  Block otherwise;
};
struct For {
  Target target;
  ExpressionPtr iterable, filter;  // filter may be null
  bool recursive = false;
  Block body, otherwise;
};
struct Set {
  Target target;
  ExpressionPtr value;
};
struct SetBlock {
  Target target;
  ExpressionPtr filter;  // may be null
  Block body;
};
struct MacroDefinition {
  std::unique_ptr<const Macro> macro;
};
struct CallBlock {
  ExpressionPtr call;
  std::unique_ptr<const Macro> caller;
};
struct FilterBlock {
  ExpressionPtr filter;
  Block body;
};
struct With {
  std::vector<std::pair<Target, ExpressionPtr>> bindings;
  Block body;
};
struct Break {};
struct Continue {};

struct Statement {
  uint32_t line;
  std::variant<Text, Print, If, For, Set, SetBlock, MacroDefinition, CallBlock, FilterBlock, With, Break,
               Continue>
      node;
};

}  // namespace oxbow::text::jinja
