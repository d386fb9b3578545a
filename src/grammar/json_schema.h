#pragma once
// JSON schemas as grammars: which keywords, docs/structured-output.md.

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "grammar/expressions.h"

namespace oxbow::grammar {

// Rule 0 accepts the JSON texts that the schema accepts, members in the order of the schema. Errors: see
// Grammar::from_json_schema.
Result<Expressions> schema_expressions(const nlohmann::ordered_json& schema);

// Rule 0 accepts any JSON object.
Result<Expressions> json_object_expressions();

}  // namespace oxbow::grammar
