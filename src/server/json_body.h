#pragma once
// The JSON of a request's body, within limits.

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include <fmt/format.h>

#include "server/http.h"

namespace oxbow::server {

// Keeps the order of members: templates and grammars need it.
using Json = nlohmann::ordered_json;

// A value, or the answer that says why there is none.
template <typename T>
using Checked = tl::expected<T, ErrorAnswer>;

struct JsonLimits {
  size_t depth = 64;
  // Of one object; looking members up takes as many steps.
  size_t members = 1024;
  // All together, because a value takes more memory than its text.
  size_t values = 1'000'000;
};

// Errors: 400 invalid_json with line and column, for text that is no UTF-8 JSON or above a limit. Looks at
// the limits before anything is built.
Checked<Json> parse_json(std::string_view text, const JsonLimits& limits = {});
// The same for a body, which must be an object.
Checked<Json> parse_body(std::string_view text, const JsonLimits& limits = {});

// One line; bytes that are no UTF-8 become U+FFFD.
std::string to_text(const Json& json);

}  // namespace oxbow::server
