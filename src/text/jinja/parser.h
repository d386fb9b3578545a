#pragma once
// Turns a template's source into its syntax tree.

#include "base/status.h"
#include "text/jinja/limits.h"
#include "text/jinja/syntax.h"

namespace oxbow::text::jinja {

// Errors: kInvalidInput (syntax, with the line), kUnsupported (include, extends, import, unknown filters and
// tests), kOutOfBudget (nested too deep, too long).
Result<Block> parse(std::string_view source, const Limits& limits);

}  // namespace oxbow::text::jinja
