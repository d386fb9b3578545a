#pragma once
// JSON strings with a content: sets of characters as they are written within quotes, patterns, formats.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "grammar/expressions.h"

namespace oxbow::grammar {

// The text of a string with its quotes.
std::string json_quoted(std::string_view content);

// One character of a set, escaped where JSON wants it.
ExpressionId string_character(Expressions& expressions, std::vector<CharacterRange> ranges);

// A string that a regular expression of ECMA-262 finds itself in; anchors may stand at the ends of
// alternatives of the whole. Errors: kUnsupported for what is no regular set or needs Unicode properties
// (look-around, back references, \b, \p); kInvalidInput for faults; both without a place.
Result<ExpressionId> string_with_pattern(Expressions& expressions, std::string_view pattern);

// A string of a `format` of JSON schema. Nothing for formats that are not supported.
std::optional<ExpressionId> string_with_format(Expressions& expressions, std::string_view format);

// Any string of unescaped characters that is none of `names`.
ExpressionId string_except(Expressions& expressions, std::span<const std::string> names);

}  // namespace oxbow::grammar
