#pragma once
// JSON schemas as grammars: which keywords, docs/structured-output.md.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/status.h"
#include "grammar/expressions.h"
#include "grammar/json_texts.h"

namespace oxbow::grammar {

struct SchemaLimits {
  size_t nesting = 64;             // schemas within schemas
  size_t schemas = 10'000;         // compiled, those of references and merges included
  size_t expressions = 1'000'000;  // Expressions::size()
};

// An expression for the JSON texts that the schema accepts, members in the order of the schema; rules are
// added as needed. place: of the schema in a request, the front of the JSON pointers in errors. Errors: see
// Grammar::from_json_schema.
Result<ExpressionId> add_schema(Expressions& expressions, JsonTexts& json,
                                const nlohmann::ordered_json& schema, const std::string& place = "",
                                const SchemaLimits& limits = {});

// Rule 0 accepts what the schema accepts.
Result<Expressions> schema_expressions(const nlohmann::ordered_json& schema);

// Rule 0 accepts any JSON object.
Result<Expressions> json_object_expressions();

}  // namespace oxbow::grammar
