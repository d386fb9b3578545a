#include "text/jinja/expression_parser.h"

#include <algorithm>
#include <charconv>

#include "text/jinja/filters.h"
#include "text/jinja/heap.h"
#include "text/jinja/tests.h"
#include "text/jinja/tree_depth.h"

namespace oxbow::text::jinja {

namespace {

struct NamedOperator {
  std::string_view text;
  BinaryOperator op;
};
constexpr NamedOperator kProducts[] = {{"*", BinaryOperator::kMultiply},
                                       {"/", BinaryOperator::kDivide},
                                       {"//", BinaryOperator::kFloorDivide},
                                       {"%", BinaryOperator::kModulo}};
constexpr NamedOperator kSums[] = {{"+", BinaryOperator::kAdd}, {"-", BinaryOperator::kSubtract}};
constexpr std::pair<std::string_view, CompareOperator> kComparisons[] = {
    {"==", CompareOperator::kEqual},  {"!=", CompareOperator::kNotEqual},
    {"<", CompareOperator::kLess},    {"<=", CompareOperator::kLessEqual},
    {">", CompareOperator::kGreater}, {">=", CompareOperator::kGreaterEqual}};

template <size_t N>
const NamedOperator* operator_in(const NamedOperator (&table)[N], const Token& token) {
  if (token.kind != TokenKind::kOperator) return nullptr;
  const auto* found = std::ranges::find(table, token.text, &NamedOperator::text);
  return found != std::end(table) ? found : nullptr;
}

}  // namespace

template <typename Node>
Result<ExpressionPtr> ExpressionParser::make(Node node, uint32_t line) {
  const unsigned depth = depth_of(node) + 1;
  OXBOW_TRY(tokens_.check_depth(depth));
  return std::make_unique<const Expression>(Expression{line, depth, std::move(node)});
}

Result<ExpressionPtr> ExpressionParser::expression(bool with_condition) {
  const TokenStream::Level level(tokens_);
  OXBOW_TRY(tokens_.check_depth());
  OXBOW_ASSIGN(auto value, logic_or());
  while (with_condition && tokens_.current().is_name("if")) {
    const uint32_t line = tokens_.line();
    tokens_.next();
    OXBOW_ASSIGN(auto condition, logic_or());
    ExpressionPtr otherwise;
    if (tokens_.skip_name("else")) {
      OXBOW_ASSIGN(otherwise, expression());
    }
    OXBOW_ASSIGN(value,
                 make(Conditional{std::move(condition), std::move(value), std::move(otherwise)}, line));
  }
  return value;
}

Result<ExpressionPtr> ExpressionParser::logic_or() {
  OXBOW_ASSIGN(auto left, logic_and());
  while (tokens_.current().is_name("or")) {
    const uint32_t line = tokens_.line();
    tokens_.next();
    OXBOW_ASSIGN(auto right, logic_and());
    OXBOW_ASSIGN(left, make(Logic{false, std::move(left), std::move(right)}, line));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::logic_and() {
  OXBOW_ASSIGN(auto left, logic_not());
  while (tokens_.current().is_name("and")) {
    const uint32_t line = tokens_.line();
    tokens_.next();
    OXBOW_ASSIGN(auto right, logic_not());
    OXBOW_ASSIGN(left, make(Logic{true, std::move(left), std::move(right)}, line));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::logic_not() {
  if (!tokens_.current().is_name("not")) return comparison();
  const TokenStream::Level level(tokens_);
  OXBOW_TRY(tokens_.check_depth());
  const uint32_t line = tokens_.line();
  tokens_.next();
  OXBOW_ASSIGN(auto operand, logic_not());
  return make(Unary{UnaryOperator::kNot, std::move(operand)}, line);
}

Result<ExpressionPtr> ExpressionParser::comparison() {
  const uint32_t line = tokens_.line();
  OXBOW_ASSIGN(auto first, sum());
  std::vector<std::pair<CompareOperator, ExpressionPtr>> rest;
  while (true) {
    const Token& token = tokens_.current();
    const auto* found =
        std::ranges::find(kComparisons, token.text, [](const auto& known) { return known.first; });
    CompareOperator op = CompareOperator::kIn;
    if (token.kind == TokenKind::kOperator && found != std::end(kComparisons)) {
      op = found->second;
    } else if (token.is_name("not") && tokens_.peek().is_name("in")) {
      tokens_.next();
      op = CompareOperator::kNotIn;
    } else if (!token.is_name("in")) {
      break;
    }
    tokens_.next();
    OXBOW_ASSIGN(auto operand, sum());
    rest.emplace_back(op, std::move(operand));
  }
  if (rest.empty()) return first;
  return make(Comparison{std::move(first), std::move(rest)}, line);
}

Result<ExpressionPtr> ExpressionParser::sum() {
  OXBOW_ASSIGN(auto left, concatenation());
  while (const NamedOperator* found = operator_in(kSums, tokens_.current())) {
    const uint32_t line = tokens_.line();
    tokens_.next();
    OXBOW_ASSIGN(auto right, concatenation());
    OXBOW_ASSIGN(left, make(Binary{found->op, std::move(left), std::move(right)}, line));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::concatenation() {
  const uint32_t line = tokens_.line();
  std::vector<ExpressionPtr> parts;
  do {
    OXBOW_ASSIGN(auto part, product());
    parts.push_back(std::move(part));
  } while (tokens_.skip_operator("~"));
  if (parts.size() == 1) return std::move(parts.front());
  return make(Concatenation{std::move(parts)}, line);
}

Result<ExpressionPtr> ExpressionParser::product() {
  OXBOW_ASSIGN(auto left, power());
  while (const NamedOperator* found = operator_in(kProducts, tokens_.current())) {
    const uint32_t line = tokens_.line();
    tokens_.next();
    OXBOW_ASSIGN(auto right, power());
    OXBOW_ASSIGN(left, make(Binary{found->op, std::move(left), std::move(right)}, line));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::power() {
  OXBOW_ASSIGN(auto left, unary());
  while (tokens_.current().is_operator("**")) {
    const uint32_t line = tokens_.line();
    tokens_.next();
    OXBOW_ASSIGN(auto right, unary());
    OXBOW_ASSIGN(left, make(Binary{BinaryOperator::kPower, std::move(left), std::move(right)}, line));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::unary(bool with_filter) {
  const TokenStream::Level level(tokens_);
  OXBOW_TRY(tokens_.check_depth());
  const uint32_t line = tokens_.line();
  const bool minus = tokens_.current().is_operator("-");
  ExpressionPtr value;
  if (minus || tokens_.current().is_operator("+")) {
    tokens_.next();
    OXBOW_ASSIGN(auto operand, unary(false));
    const UnaryOperator op = minus ? UnaryOperator::kMinus : UnaryOperator::kPlus;
    OXBOW_ASSIGN(value, make(Unary{op, std::move(operand)}, line));
  } else {
    OXBOW_ASSIGN(value, primary());
  }
  OXBOW_ASSIGN(value, postfix(std::move(value)));
  if (!with_filter) return value;
  while (true) {
    const Token& token = tokens_.current();
    if (token.is_operator("|")) {
      OXBOW_ASSIGN(value, filters(std::move(value), false));
    } else if (token.is_name("is")) {
      OXBOW_ASSIGN(value, test(std::move(value)));
    } else if (token.is_operator("(")) {
      OXBOW_ASSIGN(value, postfix(std::move(value)));
    } else {
      return value;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::number() {
  const uint32_t line = tokens_.line();
  const bool is_float = tokens_.current().kind == TokenKind::kFloat;
  const std::string& text = tokens_.current().text;
  const char* end = text.data() + text.size();
  double number = 0;
  int64_t integer = 0;
  if (!is_float) {
    const auto [stopped, code] = std::from_chars(text.data(), end, integer);
    if (code != std::errc() || stopped != end) return tokens_.error("the number {} is too large", text);
    if (text.size() > 1 && text[0] == '0' && integer != 0) return tokens_.error("malformed number {}", text);
  } else if (const auto [stopped, code] = std::from_chars(text.data(), end, number);
             code != std::errc() || stopped != end) {
    return tokens_.error("the number {} is too large", text);
  }
  tokens_.next();
  return make(Constant{is_float ? Value(number) : Value(integer)}, line);
}

Result<ExpressionPtr> ExpressionParser::primary() {
  const Token& token = tokens_.current();
  const uint32_t line = token.line;
  if (token.kind == TokenKind::kName) {
    std::string name = tokens_.take_text();
    if (name == "true" || name == "True") return make(Constant{true}, line);
    if (name == "false" || name == "False") return make(Constant{false}, line);
    if (name == "none" || name == "None") return make(Constant{None{}}, line);
    return make(Name{std::move(name)}, line);
  }
  if (token.kind == TokenKind::kString) {
    std::string text;
    while (tokens_.current().kind == TokenKind::kString) text += tokens_.take_text();
    return make(Constant{constant_string(std::move(text))}, line);
  }
  if (token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat) return number();
  if (tokens_.skip_operator("(")) {
    OXBOW_ASSIGN(auto value, tuple(true, true));
    OXBOW_TRY(tokens_.expect_operator(")"));
    return value;
  }
  if (token.is_operator("[")) return list_literal();
  if (token.is_operator("{")) return dict_literal();
  return tokens_.unexpected("an expression");
}

Result<ExpressionPtr> ExpressionParser::tuple(bool with_condition, bool explicit_parentheses) {
  const uint32_t line = tokens_.line();
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  while (true) {
    const Token& token = tokens_.current();
    if (token.kind == TokenKind::kBlockEnd || token.kind == TokenKind::kPrintEnd || token.is_operator(")"))
      break;
    OXBOW_ASSIGN(auto item, expression(with_condition));
    items.push_back(std::move(item));
    if (!tokens_.skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items.front());
  if (!is_tuple && !explicit_parentheses) return tokens_.unexpected("an expression");
  return make(SequenceLiteral{SequenceKind::kTuple, std::move(items)}, line);
}

Result<ExpressionPtr> ExpressionParser::list_literal() {
  const uint32_t line = tokens_.line();
  OXBOW_TRY(tokens_.expect_operator("["));
  std::vector<ExpressionPtr> items;
  while (!tokens_.current().is_operator("]")) {
    if (!items.empty()) OXBOW_TRY(tokens_.expect_operator(","));
    if (tokens_.current().is_operator("]")) break;
    OXBOW_ASSIGN(auto item, expression());
    items.push_back(std::move(item));
  }
  tokens_.next();
  return make(SequenceLiteral{SequenceKind::kList, std::move(items)}, line);
}

Result<ExpressionPtr> ExpressionParser::dict_literal() {
  const uint32_t line = tokens_.line();
  OXBOW_TRY(tokens_.expect_operator("{"));
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
  while (!tokens_.current().is_operator("}")) {
    if (!entries.empty()) OXBOW_TRY(tokens_.expect_operator(","));
    if (tokens_.current().is_operator("}")) break;
    OXBOW_ASSIGN(auto key, expression());
    OXBOW_TRY(tokens_.expect_operator(":"));
    OXBOW_ASSIGN(auto value, expression());
    entries.emplace_back(std::move(key), std::move(value));
  }
  tokens_.next();
  return make(DictLiteral{std::move(entries)}, line);
}

Result<ExpressionPtr> ExpressionParser::postfix(ExpressionPtr operand) {
  while (true) {
    const uint32_t line = tokens_.line();
    if (tokens_.skip_operator(".")) {
      OXBOW_ASSIGN(operand, dot(std::move(operand)));
    } else if (tokens_.skip_operator("[")) {
      OXBOW_ASSIGN(operand, subscript(std::move(operand)));
    } else if (tokens_.current().is_operator("(")) {
      OXBOW_ASSIGN(auto given, arguments());
      OXBOW_ASSIGN(operand, make(Call{std::move(operand), std::move(given)}, line));
    } else {
      return operand;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::dot(ExpressionPtr operand) {
  const uint32_t line = tokens_.line();
  if (tokens_.current().kind == TokenKind::kName)
    return make(Attribute{std::move(operand), tokens_.take_text()}, line);
  if (tokens_.current().kind != TokenKind::kInteger) return tokens_.unexpected("a name");
  OXBOW_ASSIGN(auto index, number());
  return make(Subscript{std::move(operand), std::move(index)}, line);
}

Result<ExpressionPtr> ExpressionParser::subscript(ExpressionPtr operand) {
  const uint32_t line = tokens_.line();
  OXBOW_ASSIGN(auto value, slice_or_index(std::move(operand), line));
  OXBOW_TRY(tokens_.expect_operator("]"));
  return value;
}

Result<ExpressionPtr> ExpressionParser::slice_or_index(ExpressionPtr operand, uint32_t line) {
  ExpressionPtr bounds[3];
  size_t colons = 0;
  while (!tokens_.current().is_operator("]") && colons < 3) {
    if (tokens_.skip_operator(":")) {
      ++colons;
    } else if (bounds[colons] == nullptr) {
      OXBOW_ASSIGN(bounds[colons], expression());
      if (colons == 0 && tokens_.current().is_operator(","))
        return tokens_.error("subscripts take one index, not several");
    } else {
      return tokens_.unexpected("']'");
    }
  }
  if (colons > 2) return tokens_.error("a slice has more than two colons");
  if (colons == 0 && bounds[0] == nullptr) return tokens_.unexpected("an index");
  if (colons == 0) return make(Subscript{std::move(operand), std::move(bounds[0])}, line);
  return make(Slice{std::move(operand), std::move(bounds[0]), std::move(bounds[1]), std::move(bounds[2])},
              line);
}

Result<ExpressionPtr> ExpressionParser::filters(ExpressionPtr operand, bool start) {
  while (start || tokens_.current().is_operator("|")) {
    const uint32_t line = tokens_.line();
    if (!start) tokens_.next();
    start = false;
    OXBOW_ASSIGN(std::string name, tokens_.expect_name());
    if (find_filter(name) == nullptr)
      return fail(ErrorKind::kUnsupported, "line {}: there is no filter '{}'", line, name);
    ArgumentNodes given;
    if (tokens_.current().is_operator("(")) {
      OXBOW_ASSIGN(given, arguments());
    }
    OXBOW_ASSIGN(operand, make(FilterCall{std::move(operand), std::move(name), std::move(given)}, line));
  }
  return operand;
}

Result<ExpressionPtr> ExpressionParser::test(ExpressionPtr operand) {
  const uint32_t line = tokens_.line();
  tokens_.next();
  const bool negated = tokens_.skip_name("not");
  OXBOW_ASSIGN(std::string name, tokens_.expect_name());
  if (find_test(name) == nullptr)
    return fail(ErrorKind::kUnsupported, "line {}: there is no test '{}'", line, name);
  ArgumentNodes given;
  const Token& token = tokens_.current();
  const bool literal = token.kind == TokenKind::kString || token.kind == TokenKind::kInteger ||
                       token.kind == TokenKind::kFloat || token.is_operator("[") || token.is_operator("{");
  const bool word = token.kind == TokenKind::kName && !token.is_name("else") && !token.is_name("or") &&
                    !token.is_name("and");
  if (token.is_operator("(")) {
    OXBOW_ASSIGN(given, arguments());
  } else if (literal || word) {
    if (token.is_name("is")) return tokens_.error("tests cannot be chained with 'is'");
    OXBOW_ASSIGN(auto argument, primary());
    OXBOW_ASSIGN(argument, postfix(std::move(argument)));
    given.positional.push_back(std::move(argument));
  }
  OXBOW_ASSIGN(auto value, make(TestCall{std::move(operand), std::move(name), std::move(given)}, line));
  if (!negated) return value;
  return make(Unary{UnaryOperator::kNot, std::move(value)}, line);
}

Result<ArgumentNodes> ExpressionParser::arguments() {
  OXBOW_TRY(tokens_.expect_operator("("));
  ArgumentNodes given;
  bool first = true;
  while (!tokens_.current().is_operator(")")) {
    if (!first) OXBOW_TRY(tokens_.expect_operator(","));
    first = false;
    if (tokens_.current().is_operator(")")) break;
    ExpressionPtr* spread = tokens_.current().is_operator("*")    ? &given.spread
                            : tokens_.current().is_operator("**") ? &given.named_spread
                                                                  : nullptr;
    if (spread != nullptr) {
      if (*spread != nullptr) return tokens_.unexpected("')'");
      tokens_.next();
      OXBOW_ASSIGN(*spread, expression());
    } else if (tokens_.current().kind == TokenKind::kName && tokens_.peek().is_operator("=")) {
      std::string name = tokens_.take_text();
      tokens_.next();
      OXBOW_ASSIGN(auto value, expression());
      for (const auto& [known, e] : given.named)
        if (known == name) return tokens_.error("the argument '{}' is given twice", name);
      given.named.emplace_back(std::move(name), std::move(value));
    } else {
      if (!given.named.empty() || given.spread != nullptr || given.named_spread != nullptr)
        return tokens_.error("an argument without a name stands behind one with a name");
      OXBOW_ASSIGN(auto value, expression());
      given.positional.push_back(std::move(value));
    }
  }
  tokens_.next();
  return given;
}

}  // namespace oxbow::text::jinja
