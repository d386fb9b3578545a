#pragma once
// Methods of strings, dicts and lists that do not change them.

#include "text/jinja/arguments.h"

namespace oxbow::text::jinja {

bool has_method(const Value& receiver, std::string_view name);
// Errors: no such method, wrong arguments.
Result<Value> call_method(Heap& heap, const Value& receiver, std::string_view name,
                          const Arguments& arguments);

}  // namespace oxbow::text::jinja
