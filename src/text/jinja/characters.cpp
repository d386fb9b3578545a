#include "text/jinja/characters.h"

#include <algorithm>
#include <utility>

#include "text/unicode.h"

namespace oxbow::text::jinja {

namespace {

template <typename F>
std::string map_characters(std::string_view text, F map) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = decode_character(text);
    append_utf8(out, map(c.code_point));
    text.remove_prefix(c.size_bytes);
  }
  return out;
}

// The last character of text, which must not be empty.
Character last_character(std::string_view text) {
  size_t start = text.size() - 1;
  while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
  return decode_character(text.substr(start));
}

bool contains(std::string_view text, char32_t wanted) {
  while (!text.empty()) {
    const Character c = decode_character(text);
    if (c.code_point == wanted) return true;
    text.remove_prefix(c.size_bytes);
  }
  return false;
}

}  // namespace

size_t count_code_points(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

size_t bytes_of_code_points(std::string_view text, size_t count) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80 && count-- == 0) break;
  }
  return at;
}

std::vector<std::string_view> split_code_points(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t size = decode_character(text).size_bytes;
    parts.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return parts;
}

std::string to_upper(std::string_view text) {
  return map_characters(text, [](char32_t c) { return text::to_upper(c); });
}
std::string to_lower(std::string_view text) {
  return map_characters(text, [](char32_t c) { return text::to_lower(c); });
}

std::string to_capitalized(std::string_view text) {
  return map_characters(text, [first = true](char32_t c) mutable {
    return std::exchange(first, false) ? text::to_title(c) : text::to_lower(c);
  });
}

std::string to_title(std::string_view text) {
  return map_characters(text, [inside = false](char32_t c) mutable {
    const bool cased = is_upper(c) || is_lower(c) || is_title(c);
    return std::exchange(inside, cased) ? text::to_lower(c) : text::to_title(c);
  });
}

std::string_view strip(std::string_view text, const std::string_view* characters, bool left, bool right) {
  const auto goes = [&](char32_t c) {
    return characters != nullptr ? contains(*characters, c) : is_space(c);
  };
  while (left && !text.empty()) {
    const Character c = decode_character(text);
    if (!goes(c.code_point)) break;
    text.remove_prefix(c.size_bytes);
  }
  while (right && !text.empty()) {
    const Character c = last_character(text);
    if (!goes(c.code_point)) break;
    text.remove_suffix(c.size_bytes);
  }
  return text;
}

std::string_view strip(std::string_view text) {
  return strip(text, nullptr, true, true);
}

}  // namespace oxbow::text::jinja
