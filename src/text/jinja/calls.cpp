// Calls of a template: methods, functions, macros.

#include <algorithm>

#include "text/jinja/functions.h"
#include "text/jinja/interpreter_state.h"
#include "text/jinja/methods.h"
#include "text/jinja/operations.h"

namespace oxbow::text::jinja {

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
  if (LoopState* loop = function.loop()) {
    OXBOW_ASSIGN(const Bound bound, Bound::bind("loop", given, {"iterable"}, 1));
    return loop->recurse(*bound[0]);
  }
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
  OXBOW_TRY(bind_parameters(*function.macro, std::move(given), *scope_));
  return capture(function.macro->body);
}

}  // namespace oxbow::text::jinja
