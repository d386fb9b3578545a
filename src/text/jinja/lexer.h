#pragma once
// Cuts a template into text and tokens. White space follows `trim_blocks` and `lstrip_blocks`, both on, as
// model files assume: a newline after a block tag goes, and so does the blank space between the start of a
// line and a block tag; `-` strips more, `+` keeps.

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace oxbow::text::jinja {

enum class TokenKind : uint8_t {
  kText,
  kPrintBegin,
  kPrintEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  uint32_t line = 1;
  std::string text;  // decoded, for strings; the operator; empty for the marks

  bool is(TokenKind wanted, std::string_view wanted_text) const {
    return kind == wanted && text == wanted_text;
  }
  bool is_name(std::string_view wanted) const { return is(TokenKind::kName, wanted); }
  bool is_operator(std::string_view wanted) const { return is(TokenKind::kOperator, wanted); }
};

// The last token is kEnd. Errors: kInvalidInput, with the line.
Result<std::vector<Token>> tokenize(std::string_view source);

// How messages name a token.
std::string describe(const Token& token);

}  // namespace oxbow::text::jinja
