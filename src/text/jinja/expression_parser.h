#pragma once
// The expressions of a template, by recursive descent.

#include "text/jinja/syntax.h"
#include "text/jinja/token_stream.h"

namespace oxbow::text::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  Result<ExpressionPtr> expression(bool with_condition = true);
  // One expression, or a tuple when there are commas. Only in parentheses may it be empty.
  Result<ExpressionPtr> tuple(bool with_condition = true, bool explicit_parentheses = false);
  // `| name(...) | ...` behind operand, which is null for the text of a block. `start` is true where the
  // first name comes without a bar.
  Result<ExpressionPtr> filters(ExpressionPtr operand, bool start);
  // Something with calls, attributes and subscripts behind it.
  Result<ExpressionPtr> unary(bool with_filter = true);

 private:
  Result<ExpressionPtr> logic_or();
  Result<ExpressionPtr> logic_and();
  Result<ExpressionPtr> logic_not();
  Result<ExpressionPtr> comparison();
  Result<ExpressionPtr> sum();
  Result<ExpressionPtr> concatenation();
  Result<ExpressionPtr> product();
  Result<ExpressionPtr> power();
  Result<ExpressionPtr> primary();
  Result<ExpressionPtr> number();
  Result<ExpressionPtr> list_literal();
  Result<ExpressionPtr> dict_literal();
  Result<ExpressionPtr> postfix(ExpressionPtr operand);
  Result<ExpressionPtr> dot(ExpressionPtr operand);
  Result<ExpressionPtr> subscript(ExpressionPtr operand);
  Result<ExpressionPtr> slice_or_index(ExpressionPtr operand, uint32_t line);
  Result<ExpressionPtr> test(ExpressionPtr operand);
  Result<ArgumentNodes> arguments();
  template <typename Node>
  Result<ExpressionPtr> make(Node node, uint32_t line);

  TokenStream& tokens_;
};

}  // namespace oxbow::text::jinja
