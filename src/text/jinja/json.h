#pragma once
// From JSON to template values.

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "text/jinja/heap.h"

namespace oxbow::text::jinja {

using StringMap = std::function<std::string(std::string_view)>;

// Bytes that are no UTF-8 become U+FFFD; integers beyond 64 bits become floats. `map`, when there is one,
// changes every string, names of members included; it must give UTF-8. Errors: kOutOfBudget, for values
// nested deeper than Limits::value_depth or too large.
Result<Value> from_json(Heap& heap, const nlohmann::ordered_json& json, const StringMap& map = {});

}  // namespace oxbow::text::jinja
