#pragma once
// Python's view of text: code points, white space, letter case. Letter case maps one character to one
// character (Python turns "ß" into "SS"; here it stays).

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace oxbow::text::jinja {

size_t count_code_points(std::string_view text);
// Bytes of the first `count` code points.
size_t bytes_of_code_points(std::string_view text, size_t count);
std::vector<std::string_view> split_code_points(std::string_view text);

std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
// First character upper case, the rest lower case.
std::string to_capitalized(std::string_view text);
// str.title(): every letter that follows no letter in upper case, the others in lower case.
std::string to_title(std::string_view text);

// Removes characters at the ends: white space when `characters` is null, else any of those.
std::string_view strip(std::string_view text, const std::string_view* characters, bool left, bool right);
std::string_view strip(std::string_view text);

}  // namespace oxbow::text::jinja
