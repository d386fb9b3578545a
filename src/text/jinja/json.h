#pragma once
// From JSON to template values.

#include <nlohmann/json_fwd.hpp>

#include "text/jinja/heap.h"

namespace oxbow::text::jinja {

// Bytes that are no UTF-8 become U+FFFD; integers beyond 64 bits become floats. Errors: kOutOfBudget, for
// values nested deeper than Limits::value_depth or too large.
Result<Value> from_json(Heap& heap, const nlohmann::ordered_json& json);

}  // namespace oxbow::text::jinja
