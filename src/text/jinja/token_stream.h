#pragma once
// The parser's view of the tokens: what comes next, and errors that say where.

#include <vector>

#include "text/jinja/lexer.h"
#include "text/jinja/limits.h"

namespace oxbow::text::jinja {

class TokenStream {
 public:
  TokenStream(std::vector<Token> tokens, const Limits& limits)
      : tokens_(std::move(tokens)), max_depth_(limits.syntax_depth) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& peek() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  uint32_t line() const { return current().line; }
  // The last token is never passed.
  void next() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  std::string take_text() {
    std::string text = std::move(tokens_[at_].text);
    next();
    return text;
  }
  bool skip_name(std::string_view name) { return skip_if(current().is_name(name)); }
  bool skip_operator(std::string_view op) { return skip_if(current().is_operator(op)); }
  Status expect_operator(std::string_view op) {
    if (skip_operator(op)) return {};
    return unexpected(fmt::format("'{}'", op));
  }
  Result<std::string> expect_name() {
    if (current().kind != TokenKind::kName) return unexpected("a name");
    return take_text();
  }
  Status expect_block_end() {
    if (skip_if(current().kind == TokenKind::kBlockEnd)) return {};
    return unexpected("'%}'");
  }
  tl::unexpected<Error> unexpected(std::string_view wanted) const {
    return error("expected {}, found {}", wanted, describe(current()));
  }
  template <typename... Args>
  tl::unexpected<Error> error(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorKind::kInvalidInput, "line {}: {}", line(),
                fmt::format(format, std::forward<Args>(args)...));
  }

  // One level of nesting, as long as the object lives.
  class Level {
   public:
    explicit Level(TokenStream& stream) : stream_(stream) { ++stream_.depth_; }
    ~Level() { --stream_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    TokenStream& stream_;
  };
  // For the recursion of the parser and for the depth of a tree it has built.
  Status check_depth(unsigned tree_depth = 0) const {
    if (depth_ <= max_depth_ && tree_depth <= max_depth_) return {};
    return fail(ErrorKind::kOutOfBudget, "line {}: nested more than {} deep", line(), max_depth_);
  }

 private:
  bool skip_if(bool condition) {
    if (condition) next();
    return condition;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  unsigned depth_ = 0;
  const unsigned max_depth_;
};

}  // namespace oxbow::text::jinja
