#include "text/jinja/interpreter.h"

#include <algorithm>

#include "text/jinja/filters.h"
#include "text/jinja/functions.h"
#include "text/jinja/loop.h"
#include "text/jinja/methods.h"
#include "text/jinja/operations.h"
#include "text/jinja/print.h"
#include "text/jinja/scope.h"
#include "text/jinja/tests.h"

namespace oxbow::text::jinja {

namespace {

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
  Result<Flow> loop_passes(const For& node, LoopState& loop, const Value& loop_value, bool& any);
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
  unsigned loops_ = 0;
  bool located_ = false;
};

tl::unexpected<Error> Interpreter::locate(Error error, uint32_t line) {
  if (!std::exchange(located_, true)) error.message = fmt::format("line {}: {}", line, error.message);
  return tl::unexpected<Error>(std::move(error));
}

Status Interpreter::enter_level() {
  ++depth_;
  if (depth_ > heap_.limits().evaluation_depth)
    return fail(ErrorKind::kOutOfBudget, "the template nests more than {} deep while it runs",
                heap_.limits().evaluation_depth);
  return heap_.spend(1);
}

Status Interpreter::write(std::string_view text) {
  if (text.size() > heap_.limits().output_bytes - out_->size())
    return fail(ErrorKind::kOutOfBudget, "the output is longer than {} bytes", heap_.limits().output_bytes);
  out_->append(text);
  return heap_.spend_bytes(text.size());
}

// Statements.

Result<Flow> Interpreter::execute(const Block& block) {
  for (const Statement& statement : block) {
    const Level level{depth_};
    Status entered = enter_level();
    if (!entered) return locate(std::move(entered).error(), statement.line);
    auto flow = std::visit([&](const auto& n) { return execute(n); }, statement.node);
    if (!flow) return locate(std::move(flow).error(), statement.line);
    if (*flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Flow> Interpreter::execute(const Text& text) {
  OXBOW_TRY(write(text.text));
  return Flow::kNext;
}

Result<Flow> Interpreter::execute(const Print& print) {
  OXBOW_ASSIGN(const Value value, evaluate(print.value));
  if (value.string() != nullptr) {
    OXBOW_TRY(write(value.text()));
  } else {
    OXBOW_ASSIGN(const std::string text, to_text(heap_, value));
    OXBOW_TRY(write(text));
  }
  return Flow::kNext;
}

Result<Flow> Interpreter::execute(const If& node) {
  for (const auto& [condition, then] : node.branches) {
    OXBOW_ASSIGN(const Value value, evaluate(condition));
    if (value.truthy()) return execute(then);
  }
  return execute(node.otherwise);
}

Result<bool> Interpreter::loop_pass_accepts(const For& node, const Value& item) {
  const Enter enter(*this, std::make_shared<Scope>(scope_));
  OXBOW_TRY(assign(node.target, item));
  OXBOW_ASSIGN(const Value value, evaluate(node.filter));
  return value.truthy();
}

Result<Flow> Interpreter::loop_passes(const For& node, LoopState& loop, const Value& loop_value, bool& any) {
  while (true) {
    OXBOW_TRY(heap_.spend(1));
    OXBOW_ASSIGN(const bool more, loop.advance());
    if (!more) return Flow::kNext;
    any = true;
    const Enter enter(*this, std::make_shared<Scope>(scope_));
    scope_->set("loop", loop_value);
    OXBOW_TRY(assign(node.target, loop.current()));
    OXBOW_ASSIGN(const Flow flow, execute(node.body));
    if (flow == Flow::kBreak) return Flow::kNext;
  }
}

Result<Flow> Interpreter::execute(const For& node) {
  OXBOW_ASSIGN(const Value iterable, evaluate(node.iterable));
  OXBOW_ASSIGN(auto items, iterate(heap_, iterable));
  const size_t bytes = 2 * items.size() * sizeof(Value);
  LoopState::Accept accept;
  // The filter sees the scope around the loop, whenever it runs.
  if (node.filter != nullptr) {
    accept = [this, &node, outer = scope_](const Value& item) {
      const Enter enter(*this, outer);
      return loop_pass_accepts(node, item);
    };
  }
  auto loop = std::make_shared<LoopState>(std::move(items), std::move(accept), loops_);
  OXBOW_TRY(heap_.charge(*loop, bytes, iterable.depth() + 1));
  bool any = false;
  ++loops_;
  auto flow = loop_passes(node, *loop, Value(loop), any);
  --loops_;
  loop->finish();
  if (!flow || any) return flow;
  const Enter enter(*this, std::make_shared<Scope>(scope_));
  return execute(node.otherwise);
}

Status Interpreter::assign_parts(const Target& target, const Value& value) {
  if (!is_iterable(value))
    return fail(ErrorKind::kInvalidInput, "cannot take {} apart into {} names", value.type_name(),
                target.parts.size());
  OXBOW_ASSIGN(const auto items, iterate(heap_, value));
  if (items.size() != target.parts.size())
    return fail(ErrorKind::kInvalidInput, "cannot take {} items apart into {} names", items.size(),
                target.parts.size());
  for (size_t i = 0; i < items.size(); ++i) OXBOW_TRY(assign(target.parts[i], items[i]));
  return {};
}

Status Interpreter::assign(const Target& target, const Value& value) {
  if (!target.parts.empty()) return assign_parts(target, value);
  if (target.attribute.empty()) {
    scope_->set(target.name, value);
    return {};
  }
  const Value* held = scope_->find(target.name);
  Namespace* space = held != nullptr ? held->name_space() : nullptr;
  if (space == nullptr)
    return fail(ErrorKind::kInvalidInput, "cannot set '{}.{}': '{}' is no namespace", target.name,
                target.attribute, target.name);
  // A loop inside a namespace can hold the namespace: the heap's cleaning up ends such cycles.
  if (Value* known = space->find(target.attribute)) {
    const Value old = std::exchange(*known, value);
  } else {
    space->attributes.emplace_back(target.attribute, value);
  }
  return {};
}

Result<Flow> Interpreter::execute(const Set& node) {
  OXBOW_ASSIGN(const Value value, evaluate(node.value));
  OXBOW_TRY(assign(node.target, value));
  return Flow::kNext;
}

Result<Value> Interpreter::capture(const Block& block) {
  const Enter enter(*this, std::make_shared<Scope>(scope_));
  std::string text;
  std::string* const outer = std::exchange(out_, &text);
  auto flow = execute(block);
  out_ = outer;
  OXBOW_TRY(std::move(flow));
  return heap_.string(std::move(text));
}

Result<Flow> Interpreter::execute(const SetBlock& node) {
  OXBOW_ASSIGN(Value value, capture(node.body));
  if (node.filter != nullptr) {
    const Value text = value;
    OXBOW_ASSIGN(value, filter_chain(std::get<FilterCall>(node.filter->node), &text));
  }
  OXBOW_TRY(assign(node.target, value));
  return Flow::kNext;
}

Result<Flow> Interpreter::execute(const MacroDefinition& node) {
  OXBOW_ASSIGN(const Value macro, heap_.macro(*node.macro, node.macro->name, scope_));
  scope_->set(node.macro->name, macro);
  return Flow::kNext;
}

Result<Flow> Interpreter::execute(const CallBlock& node) {
  const auto& called = std::get<Call>(node.call->node);
  OXBOW_ASSIGN(const Value caller, heap_.macro(*node.caller, "caller", scope_));
  OXBOW_ASSIGN(Arguments given, arguments(called.arguments));
  given.named.emplace_back("caller", caller);
  OXBOW_ASSIGN(const Value value, call(*called.callee, std::move(given)));
  OXBOW_ASSIGN(const std::string text, to_text(heap_, value));
  OXBOW_TRY(write(text));
  return Flow::kNext;
}

Result<Flow> Interpreter::execute(const FilterBlock& node) {
  OXBOW_ASSIGN(const Value text, capture(node.body));
  OXBOW_ASSIGN(const Value value, filter_chain(std::get<FilterCall>(node.filter->node), &text));
  OXBOW_ASSIGN(const std::string filtered, to_text(heap_, value));
  OXBOW_TRY(write(filtered));
  return Flow::kNext;
}

Result<Flow> Interpreter::execute(const With& node) {
  auto inner = std::make_shared<Scope>(scope_);
  std::vector<Value> values;
  for (const auto& [target, expression] : node.bindings) {
    OXBOW_ASSIGN(Value value, evaluate(expression));
    values.push_back(std::move(value));
  }
  const Enter enter(*this, std::move(inner));
  for (size_t i = 0; i < values.size(); ++i) OXBOW_TRY(assign(node.bindings[i].first, values[i]));
  return execute(node.body);
}

// Expressions.

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

// Calls.

Result<Arguments> Interpreter::arguments(const ArgumentNodes& nodes) {
  Arguments given;
  for (const auto& expression : nodes.positional) {
    OXBOW_ASSIGN(Value value, evaluate(expression));
    given.positional.push_back(std::move(value));
  }
  for (const auto& [name, expression] : nodes.named) {
    OXBOW_ASSIGN(Value value, evaluate(expression));
    given.named.emplace_back(name, std::move(value));
  }
  if (nodes.spread != nullptr) {
    OXBOW_ASSIGN(const Value list, evaluate(nodes.spread));
    OXBOW_ASSIGN(const auto items, iterate(heap_, list));
    given.positional.insert(given.positional.end(), items.begin(), items.end());
  }
  if (nodes.named_spread != nullptr) {
    OXBOW_ASSIGN(const Value dict, evaluate(nodes.named_spread));
    if (dict.dict() == nullptr)
      return fail(ErrorKind::kInvalidInput, "** takes a dict, not {}", dict.type_name());
    OXBOW_TRY(heap_.spend(dict.dict()->entries.size()));
    for (const auto& [key, value] : dict.dict()->entries) {
      if (key.string() == nullptr)
        return fail(ErrorKind::kInvalidInput, "names of arguments must be strings");
      given.named.emplace_back(std::string(key.text()), value);
    }
  }
  return given;
}

Result<Value> Interpreter::node(const Call& n) {
  OXBOW_ASSIGN(Arguments given, arguments(n.arguments));
  return call(*n.callee, std::move(given));
}

Result<Value> Interpreter::call(const Expression& callee, Arguments given) {
  // Method calls need no method value.
  if (const auto* member = std::get_if<Attribute>(&callee.node)) {
    OXBOW_ASSIGN(const Value object, evaluate(member->object));
    if (has_method(object, member->name)) return call_method(heap_, object, member->name, given);
    OXBOW_ASSIGN(const Value found, attribute(heap_, object, member->name));
    if (found.function() != nullptr) return call_function(*found.function(), std::move(given));
    if (found.is_undefined()) return undefined_error(found);
    return fail(ErrorKind::kInvalidInput, "'{}' cannot be called", found.type_name());
  }
  OXBOW_ASSIGN(const Value function, evaluate(callee));
  if (function.is_undefined()) return undefined_error(function);
  if (function.function() == nullptr)
    return fail(ErrorKind::kInvalidInput, "'{}' cannot be called", function.type_name());
  return call_function(*function.function(), std::move(given));
}

Result<Value> Interpreter::call_function(const Function& function, Arguments given) {
  switch (function.kind) {
    case Function::Kind::kGlobal:
      return call_global(heap_, function.name, given, now_);
    case Function::Kind::kMacro:
      return call_macro(function, std::move(given));
    case Function::Kind::kMethod:
      break;
  }
  LoopState* loop = function.receiver.loop();
  if (loop == nullptr) return call_method(heap_, function.receiver, function.name, given);
  if (given.positional.empty()) return fail(ErrorKind::kInvalidInput, "loop.cycle needs items");
  return given.positional[static_cast<size_t>(loop->index0()) % given.positional.size()];
}

Status Interpreter::bind_parameters(const Macro& macro, Arguments given, Scope& scope) {
  const size_t count = macro.parameters.size(), required = count - macro.defaults.size();
  if (given.positional.size() > count)
    return fail(ErrorKind::kInvalidInput, "macro '{}' takes at most {} arguments, {} given", macro.name,
                count, given.positional.size());
  std::vector<bool> bound(count, false);
  for (size_t i = 0; i < given.positional.size(); ++i) {
    scope.set(macro.parameters[i], std::move(given.positional[i]));
    bound[i] = true;
  }
  for (auto& [name, value] : given.named) {
    const auto found = std::ranges::find(macro.parameters, name);
    if (found == macro.parameters.end() && name == "caller") {
      scope.set(name, std::move(value));
      continue;
    }
    const auto i = static_cast<size_t>(found - macro.parameters.begin());
    if (found == macro.parameters.end() || bound[i])
      return fail(ErrorKind::kInvalidInput, "macro '{}' takes no argument '{}' here", macro.name, name);
    scope.set(name, std::move(value));
    bound[i] = true;
  }
  // Defaults may use the parameters before them; what is missing without a default is undefined.
  for (size_t i = 0; i < count; ++i) {
    if (bound[i]) continue;
    Value value = heap_.undefined(fmt::format("parameter '{}' was not provided", macro.parameters[i]));
    if (i >= required) {
      OXBOW_ASSIGN(value, evaluate(macro.defaults[i - required]));
    }
    scope.set(macro.parameters[i], std::move(value));
  }
  return {};
}

Result<Value> Interpreter::call_macro(const Function& function, Arguments given) {
  std::shared_ptr<Scope> outer = function.scope.lock();
  if (outer == nullptr)
    return fail(ErrorKind::kUnsupported, "macro '{}' is called outside of the block that defines it",
                function.name);
  const Enter enter(*this, std::make_shared<Scope>(std::move(outer)));
  const unsigned loops = std::exchange(loops_, 0);
  Status bound = bind_parameters(*function.macro, std::move(given), *scope_);
  Result<Value> text =
      bound ? capture(function.macro->body) : tl::unexpected<Error>(std::move(bound).error());
  loops_ = loops;
  return text;
}

Result<std::string> Interpreter::run(const Block& program,
                                     std::vector<std::pair<std::string, Value>> variables) {
  auto globals = std::make_shared<Scope>();
  for (const std::string_view name : global_function_names()) globals->set(name, global_function(name));
  scope_ = std::make_shared<Scope>(std::move(globals));
  for (auto& [name, value] : variables) scope_->set(name, std::move(value));
  std::string text;
  out_ = &text;
  OXBOW_TRY(execute(program));
  return text;
}

}  // namespace

Result<std::string> render(const Block& program, Heap& heap,
                           std::vector<std::pair<std::string, Value>> variables, const std::tm& now) {
  return Interpreter(heap, now).run(program, std::move(variables));
}

}  // namespace oxbow::text::jinja
