#pragma once
// Schemas made of other schemas: one that accepts what two accept, and whether two have a value in common.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/status.h"

namespace oxbow::grammar {

using Json = nlohmann::ordered_json;

// Follows references for merges: the schema that a $ref names. Errors: kInvalidInput, kUnsupported.
using ResolveSchema = std::function<Result<Json>(const std::string& reference)>;

// A schema for the values that both accept. `work` counts merges down; errors: kOutOfBudget when it is used
// up, kUnsupported for pairs of keywords that have no common form; both without a place.
Result<Json> merge_schemas(const Json& a, const Json& b, const ResolveSchema& resolve, size_t& work);

// Whether it is certain that no value is accepted by both.
bool are_disjoint(const Json& a, const Json& b, const ResolveSchema& resolve, int depth = 0);

// Whether a JSON value is of a schema's type name.
bool has_type(const Json& value, std::string_view type);

}  // namespace oxbow::grammar
