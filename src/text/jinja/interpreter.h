#pragma once
// Runs the syntax tree of a template.

#include <ctime>
#include <map>

#include "text/jinja/arguments.h"
#include "text/jinja/syntax.h"

namespace oxbow::text::jinja {

// Renders a template with these variables; the heap made them. `now` is what strftime_now() tells, local
// time. Errors: kInvalidInput for what the template or its raise_exception() refuses, with the line;
// kOutOfBudget for the limits.
Result<std::string> render(const Block& program, Heap& heap,
                           std::vector<std::pair<std::string, Value>> variables, const std::tm& now);

}  // namespace oxbow::text::jinja
