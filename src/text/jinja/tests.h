#pragma once
// The tests that stand behind `is`, by name.

#include "text/jinja/arguments.h"

namespace oxbow::text::jinja {

using Test = Result<bool> (*)(Heap& heap, const Value& value, const Arguments& arguments);

// Null when there is none of that name.
Test find_test(std::string_view name);

}  // namespace oxbow::text::jinja
