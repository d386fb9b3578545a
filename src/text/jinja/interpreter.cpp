#include "text/jinja/interpreter.h"

#include "text/jinja/functions.h"
#include "text/jinja/interpreter_state.h"
#include "text/jinja/operations.h"
#include "text/jinja/print.h"

namespace oxbow::text::jinja {

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
  return run_loop(node, iterable, 0);
}

Result<Flow> Interpreter::run_loop(const For& node, const Value& iterable, unsigned depth0) {
  OXBOW_ASSIGN(auto items, iterate(heap_, iterable));
  const size_t bytes = 2 * items.size() * sizeof(Value);
  // The filter and the passes of loop(...) see the scope around the loop, whenever they run.
  LoopState::Accept accept;
  if (node.filter != nullptr) {
    accept = [this, &node, outer = scope_](const Value& item) {
      const Enter enter(*this, outer);
      return loop_pass_accepts(node, item);
    };
  }
  LoopState::Recurse recurse;
  if (node.recursive) {
    recurse = [this, &node, outer = scope_, depth0](const Value& inner) {
      const Enter enter(*this, outer);
      return captured([&] { return run_loop(node, inner, depth0 + 1); });
    };
  }
  auto loop = std::make_shared<LoopState>(std::move(items), std::move(accept), std::move(recurse), depth0);
  OXBOW_TRY(heap_.charge(*loop, bytes, iterable.depth() + 1));
  bool any = false;
  auto flow = loop_passes(node, *loop, Value(loop), any);
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

template <typename Run>
Result<Value> Interpreter::captured(Run run) {
  std::string text;
  std::string* const outer = std::exchange(out_, &text);
  Result<Flow> flow = run();
  out_ = outer;
  OXBOW_TRY(std::move(flow));
  return heap_.string(std::move(text));
}

Result<Value> Interpreter::capture(const Block& block) {
  const Enter enter(*this, std::make_shared<Scope>(scope_));
  return captured([&] { return execute(block); });
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

Result<std::string> render(const Block& program, Heap& heap,
                           std::vector<std::pair<std::string, Value>> variables, const std::tm& now) {
  return Interpreter(heap, now).run(program, std::move(variables));
}

}  // namespace oxbow::text::jinja
