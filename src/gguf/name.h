#pragma once
// Names of keys and tensors: what is allowed, and how messages show them.

#include <string>
#include <string_view>

namespace oxbow::gguf {

// Strict: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_valid_utf8(std::string_view text);

// In double quotes, at most about 80 bytes of it; control characters, quotes and bytes that are no UTF-8 as
// \xNN.
std::string quoted(std::string_view name);

// Why a name is refused; empty when it is fine.
std::string name_problem(std::string_view name);

}  // namespace oxbow::gguf
