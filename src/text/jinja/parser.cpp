#include "text/jinja/parser.h"

#include "text/jinja/expression_parser.h"

namespace oxbow::text::jinja {

namespace {

class Parser {
 public:
  Parser(std::vector<Token> tokens, const Limits& limits)
      : tokens_(std::move(tokens), limits), expressions_(tokens_) {}
  Result<Block> run();

 private:
  // Statements up to a tag that begins with one of `ends`, which is left in the stream behind its '{%'.
  Result<Block> block(std::initializer_list<std::string_view> ends);
  // The same, with the one tag that ends it: takes `{% end %}` too.
  Result<Block> body(std::string_view end);
  Result<Statement> statement(uint32_t line);
  Result<Statement> if_statement(uint32_t line);
  Result<Statement> for_statement(uint32_t line);
  Result<Statement> set_statement(uint32_t line);
  Result<Statement> macro_statement(uint32_t line);
  Result<Statement> call_statement(uint32_t line);
  Result<Statement> filter_statement(uint32_t line);
  Result<Statement> with_statement(uint32_t line);
  Result<Statement> loop_control(uint32_t line, bool is_break);
  Result<Target> target(bool with_namespace);
  Result<Target> single_target(bool with_namespace);
  Status parameters(Macro& macro);

  TokenStream tokens_;
  ExpressionParser expressions_;
  unsigned loops_ = 0;  // loops around the statement, within its macro
};

Result<Block> Parser::run() {
  OXBOW_ASSIGN(Block statements, block({}));
  return statements;
}

Result<Block> Parser::block(std::initializer_list<std::string_view> ends) {
  const TokenStream::Level level(tokens_);
  OXBOW_TRY(tokens_.check_depth());
  Block statements;
  while (tokens_.current().kind != TokenKind::kEnd) {
    const uint32_t line = tokens_.line();
    if (tokens_.current().kind == TokenKind::kText) {
      statements.push_back({line, Text{tokens_.take_text()}});
    } else if (tokens_.current().kind == TokenKind::kPrintBegin) {
      tokens_.next();
      OXBOW_ASSIGN(auto value, expressions_.tuple());
      if (tokens_.current().kind != TokenKind::kPrintEnd) return tokens_.unexpected("'}}'");
      tokens_.next();
      statements.push_back({line, Print{std::move(value)}});
    } else {
      tokens_.next();
      for (const std::string_view end : ends)
        if (tokens_.current().is_name(end)) return statements;
      OXBOW_ASSIGN(Statement made, statement(line));
      statements.push_back(std::move(made));
    }
  }
  if (ends.size() > 0) return tokens_.unexpected(fmt::format("'{}'", *(ends.end() - 1)));
  return statements;
}

Result<Block> Parser::body(std::string_view end) {
  OXBOW_ASSIGN(Block statements, block({end}));
  tokens_.next();
  OXBOW_TRY(tokens_.expect_block_end());
  return statements;
}

Result<Statement> Parser::statement(uint32_t line) {
  OXBOW_ASSIGN(const std::string tag, tokens_.expect_name());
  if (tag == "if") return if_statement(line);
  if (tag == "for") return for_statement(line);
  if (tag == "set") return set_statement(line);
  if (tag == "macro") return macro_statement(line);
  if (tag == "call") return call_statement(line);
  if (tag == "filter") return filter_statement(line);
  if (tag == "with") return with_statement(line);
  if (tag == "break" || tag == "continue") return loop_control(line, tag == "break");
  if (tag == "generation") {
    // Marks what the model wrote, for training. Here it only opens a scope.
    OXBOW_TRY(tokens_.expect_block_end());
    const unsigned loops = std::exchange(loops_, 0);
    OXBOW_ASSIGN(Block inner, body("endgeneration"));
    loops_ = loops;
    return Statement{line, With{{}, std::move(inner)}};
  }
  for (const std::string_view known : {"include", "extends", "import", "from", "block", "autoescape", "do"})
    if (tag == known) return fail(ErrorKind::kUnsupported, "line {}: '{}' is not supported", line, tag);
  return fail(ErrorKind::kInvalidInput, "line {}: unknown tag '{}'", line, tag);
}

Result<Statement> Parser::if_statement(uint32_t line) {
  If made;
  while (true) {
    OXBOW_ASSIGN(auto condition, expressions_.tuple(false));
    OXBOW_TRY(tokens_.expect_block_end());
    OXBOW_ASSIGN(Block then, block({"elif", "else", "endif"}));
    made.branches.emplace_back(std::move(condition), std::move(then));
    if (tokens_.skip_name("elif")) continue;
    if (tokens_.skip_name("else")) {
      OXBOW_TRY(tokens_.expect_block_end());
      OXBOW_ASSIGN(made.otherwise, block({"endif"}));
    }
    tokens_.next();
    OXBOW_TRY(tokens_.expect_block_end());
    return Statement{line, std::move(made)};
  }
}

Result<Statement> Parser::for_statement(uint32_t line) {
  For made;
  OXBOW_ASSIGN(made.target, target(false));
  if (!tokens_.skip_name("in")) return tokens_.unexpected("'in'");
  OXBOW_ASSIGN(made.iterable, expressions_.tuple(false));
  if (tokens_.skip_name("if")) {
    OXBOW_ASSIGN(made.filter, expressions_.expression());
  }
  made.recursive = tokens_.skip_name("recursive");
  OXBOW_TRY(tokens_.expect_block_end());
  ++loops_;
  OXBOW_ASSIGN(made.body, block({"else", "endfor"}));
  --loops_;
  if (tokens_.skip_name("else")) {
    OXBOW_TRY(tokens_.expect_block_end());
    OXBOW_ASSIGN(made.otherwise, block({"endfor"}));
  }
  tokens_.next();
  OXBOW_TRY(tokens_.expect_block_end());
  return Statement{line, std::move(made)};
}

Result<Statement> Parser::set_statement(uint32_t line) {
  OXBOW_ASSIGN(Target to, target(true));
  if (tokens_.skip_operator("=")) {
    OXBOW_ASSIGN(auto value, expressions_.tuple());
    OXBOW_TRY(tokens_.expect_block_end());
    return Statement{line, Set{std::move(to), std::move(value)}};
  }
  ExpressionPtr filter;
  if (tokens_.current().is_operator("|")) {
    OXBOW_ASSIGN(filter, expressions_.filters(nullptr, false));
  }
  OXBOW_TRY(tokens_.expect_block_end());
  OXBOW_ASSIGN(Block inner, body("endset"));
  return Statement{line, SetBlock{std::move(to), std::move(filter), std::move(inner)}};
}

Result<Target> Parser::single_target(bool with_namespace) {
  Target made;
  if (tokens_.skip_operator("(")) {
    const TokenStream::Level level(tokens_);
    OXBOW_TRY(tokens_.check_depth());
    OXBOW_ASSIGN(made, target(false));
    OXBOW_TRY(tokens_.expect_operator(")"));
    return made;
  }
  OXBOW_ASSIGN(made.name, tokens_.expect_name());
  for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"})
    if (made.name == constant) return tokens_.error("cannot assign to '{}'", constant);
  if (with_namespace && tokens_.skip_operator(".")) {
    OXBOW_ASSIGN(made.attribute, tokens_.expect_name());
  }
  return made;
}

Result<Target> Parser::target(bool with_namespace) {
  OXBOW_ASSIGN(Target first, single_target(with_namespace));
  if (!tokens_.current().is_operator(",")) return first;
  Target made;
  made.parts.push_back(std::move(first));
  while (tokens_.skip_operator(",")) {
    if (tokens_.current().kind != TokenKind::kName && !tokens_.current().is_operator("(")) break;
    if (tokens_.current().is_name("in")) break;
    OXBOW_ASSIGN(Target part, single_target(false));
    made.parts.push_back(std::move(part));
  }
  return made;
}

Status Parser::parameters(Macro& macro) {
  OXBOW_TRY(tokens_.expect_operator("("));
  while (!tokens_.current().is_operator(")")) {
    if (!macro.parameters.empty()) OXBOW_TRY(tokens_.expect_operator(","));
    OXBOW_ASSIGN(std::string name, tokens_.expect_name());
    for (const std::string& known : macro.parameters)
      if (known == name) return tokens_.error("the parameter '{}' is named twice", name);
    macro.parameters.push_back(std::move(name));
    if (tokens_.skip_operator("=")) {
      OXBOW_ASSIGN(auto value, expressions_.expression());
      macro.defaults.push_back(std::move(value));
    } else if (!macro.defaults.empty()) {
      return tokens_.error("a parameter without default stands behind one with a default");
    }
  }
  tokens_.next();
  return {};
}

Result<Statement> Parser::macro_statement(uint32_t line) {
  auto macro = std::make_unique<Macro>();
  OXBOW_ASSIGN(macro->name, tokens_.expect_name());
  OXBOW_TRY(parameters(*macro));
  OXBOW_TRY(tokens_.expect_block_end());
  const unsigned loops = std::exchange(loops_, 0);
  OXBOW_ASSIGN(macro->body, body("endmacro"));
  loops_ = loops;
  return Statement{line, MacroDefinition{std::move(macro)}};
}

Result<Statement> Parser::call_statement(uint32_t line) {
  auto caller = std::make_unique<Macro>();
  caller->name = "caller";
  if (tokens_.current().is_operator("(")) OXBOW_TRY(parameters(*caller));
  OXBOW_ASSIGN(auto call, expressions_.unary(false));
  if (!std::holds_alternative<Call>(call->node)) return tokens_.error("expected a call behind 'call'");
  OXBOW_TRY(tokens_.expect_block_end());
  const unsigned loops = std::exchange(loops_, 0);
  OXBOW_ASSIGN(caller->body, body("endcall"));
  loops_ = loops;
  return Statement{line, CallBlock{std::move(call), std::move(caller)}};
}

Result<Statement> Parser::filter_statement(uint32_t line) {
  OXBOW_ASSIGN(auto filter, expressions_.filters(nullptr, true));
  OXBOW_TRY(tokens_.expect_block_end());
  OXBOW_ASSIGN(Block inner, body("endfilter"));
  return Statement{line, FilterBlock{std::move(filter), std::move(inner)}};
}

Result<Statement> Parser::with_statement(uint32_t line) {
  With made;
  while (tokens_.current().kind != TokenKind::kBlockEnd) {
    if (!made.bindings.empty()) OXBOW_TRY(tokens_.expect_operator(","));
    OXBOW_ASSIGN(Target to, single_target(false));
    OXBOW_TRY(tokens_.expect_operator("="));
    OXBOW_ASSIGN(auto value, expressions_.expression());
    made.bindings.emplace_back(std::move(to), std::move(value));
  }
  tokens_.next();
  OXBOW_ASSIGN(made.body, body("endwith"));
  return Statement{line, std::move(made)};
}

Result<Statement> Parser::loop_control(uint32_t line, bool is_break) {
  if (loops_ == 0) return tokens_.error("'{}' stands outside of a loop", is_break ? "break" : "continue");
  OXBOW_TRY(tokens_.expect_block_end());
  if (is_break) return Statement{line, Break{}};
  return Statement{line, Continue{}};
}

}  // namespace

Result<Block> parse(std::string_view source, const Limits& limits) {
  if (source.size() > limits.template_bytes)
    return fail(ErrorKind::kOutOfBudget, "the template is longer than {} bytes", limits.template_bytes);
  OXBOW_ASSIGN(auto tokens, tokenize(source));
  return Parser(std::move(tokens), limits).run();
}

}  // namespace oxbow::text::jinja
