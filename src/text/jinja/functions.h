#pragma once
// The functions that every template can call: range, dict, namespace, raise_exception, strftime_now.

#include <ctime>

#include "text/jinja/arguments.h"

namespace oxbow::text::jinja {

std::span<const std::string_view> global_function_names();
Result<Value> call_global(Heap& heap, std::string_view name, const Arguments& arguments, const std::tm& now);

}  // namespace oxbow::text::jinja
