#pragma once
// The state of one rendering: scopes, output, depth. Statements are in interpreter.cpp, expressions in
// evaluation.cpp, calls in calls.cpp.

#include <ctime>
#include <string>
#include <utility>

#include "text/jinja/arguments.h"
#include "text/jinja/loop.h"
#include "text/jinja/scope.h"
#include "text/jinja/syntax.h"

namespace oxbow::text::jinja {

// What a block ended with.
enum class Flow : uint8_t { kNext, kBreak, kContinue };

class Interpreter {
 public:
  Interpreter(Heap& heap, const std::tm& now) : heap_(heap), now_(now) {}
  Result<std::string> run(const Block& program, std::vector<std::pair<std::string, Value>> variables);

 private:
  Result<Flow> execute(const Block& block);
  Result<Flow> execute(const Text& text);
  Result<Flow> execute(const Print& print);
  Result<Flow> execute(const If& node);
  Result<Flow> execute(const For& node);
  Result<Flow> execute(const Set& node);
  Result<Flow> execute(const SetBlock& node);
  Result<Flow> execute(const MacroDefinition& node);
  Result<Flow> execute(const CallBlock& node);
  Result<Flow> execute(const FilterBlock& node);
  Result<Flow> execute(const With& node);
  Result<Flow> execute(const Break&) { return Flow::kBreak; }
  Result<Flow> execute(const Continue&) { return Flow::kContinue; }

  Result<Value> evaluate(const Expression& expression);
  Result<Value> evaluate(const ExpressionPtr& expression) { return evaluate(*expression); }
  Result<Value> evaluate_or(const ExpressionPtr& expression, Value otherwise);
  Result<Value> node(const Constant& n) { return n.value; }
  Result<Value> node(const Name& n);
  Result<Value> node(const SequenceLiteral& n);
  Result<Value> node(const DictLiteral& n);
  Result<Value> node(const Unary& n);
  Result<Value> node(const Binary& n);
  Result<Value> node(const Logic& n);
  Result<Value> node(const Comparison& n);
  Result<Value> node(const Concatenation& n);
  Result<Value> node(const Conditional& n);
  Result<Value> node(const Attribute& n);
  Result<Value> node(const Subscript& n);
  Result<Value> node(const Slice& n);
  Result<Value> node(const Call& n);
  Result<Value> node(const FilterCall& n) { return filter_chain(n, nullptr); }
  Result<Value> node(const TestCall& n);

  // Applies filters whose innermost operand may be missing: `text` stands for it then.
  Result<Value> filter_chain(const FilterCall& n, const Value* text);
  Result<Arguments> arguments(const ArgumentNodes& nodes);
  Result<Value> call(const Expression& callee, Arguments given);
  Result<Value> call_function(const Function& function, Arguments given);
  Result<Value> call_macro(const Function& function, Arguments given);
  Status bind_parameters(const Macro& macro, Arguments given, Scope& scope);
  Status assign(const Target& target, const Value& value);
  Status assign_parts(const Target& target, const Value& value);
  Result<bool> loop_pass_accepts(const For& node, const Value& item);
  Result<Flow> run_loop(const For& node, const Value& iterable, unsigned depth0);
  Result<Flow> loop_passes(const For& node, LoopState& loop, const Value& loop_value, bool& any);
  // What run() writes.
  template <typename Run>
  Result<Value> captured(Run run);
  // The output of a block, in a scope of its own.
  Result<Value> capture(const Block& block);
  Status write(std::string_view text);
  // Counts a step and a level of recursion; Level takes the level back.
  Status enter_level();
  // Adds the line to an error that has none yet.
  tl::unexpected<Error> locate(Error error, uint32_t line);

  struct Level {
    unsigned& depth;
    ~Level() { --depth; }
  };

  // Puts another scope in place, for as long as it lives.
  class Enter {
   public:
    Enter(Interpreter& owner, std::shared_ptr<Scope> scope)
        : owner_(owner), outer_(std::exchange(owner.scope_, std::move(scope))) {}
    ~Enter() { owner_.scope_ = std::move(outer_); }
    Enter(const Enter&) = delete;
    Enter& operator=(const Enter&) = delete;

   private:
    Interpreter& owner_;
    std::shared_ptr<Scope> outer_;
  };

  Heap& heap_;
  const std::tm& now_;
  std::shared_ptr<Scope> scope_;
  std::string* out_ = nullptr;
  unsigned depth_ = 0;
  bool located_ = false;
};

}  // namespace oxbow::text::jinja
