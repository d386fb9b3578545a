#pragma once
// Methods of strings, dicts and lists that do not change them.

#include <span>

#include "text/jinja/arguments.h"

namespace oxbow::text::jinja {

bool has_method(const Value& receiver, std::string_view name);
// Errors: no such method, wrong arguments.
Result<Value> call_method(Heap& heap, const Value& receiver, std::string_view name,
                          const Arguments& arguments);

using Method = Result<Value> (*)(Heap& heap, const Value& receiver, const Arguments& given);
struct NamedMethod {
  std::string_view name;
  Method run;
};
std::span<const NamedMethod> string_methods();

}  // namespace oxbow::text::jinja
