#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"

namespace oxbow::text {

Character decode_character(std::string_view text) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  if (bytes[0] < 0x80) return {bytes[0], 1, true};
  utf8proc_int32_t code_point = -1;
  const auto available = static_cast<utf8proc_ssize_t>(std::min<size_t>(text.size(), 4));
  const utf8proc_ssize_t size = utf8proc_iterate(bytes, available, &code_point);
  if (size <= 0 || code_point < 0) return {};
  return {static_cast<char32_t>(code_point), static_cast<size_t>(size), true};
}

size_t valid_utf8_prefix(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  size_t at = 0;
  while (at < text.size()) {
    while (at + 8 <= text.size() && (load<uint64_t>(text.data() + at) & kHighBits) == 0) at += 8;
    if (at == text.size()) break;
    const Character character = decode_character(text.substr(at));
    if (!character.valid) break;
    at += character.size_bytes;
  }
  return at;
}

void append_utf8(std::string& out, char32_t code_point) {
  if (!utf8proc_codepoint_valid(static_cast<utf8proc_int32_t>(code_point)))
    code_point = kReplacementCharacter;
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
}

size_t display_width(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Character character = decode_character(text);
    columns += static_cast<size_t>(
        std::max(0, utf8proc_charwidth(static_cast<utf8proc_int32_t>(character.code_point))));
    text.remove_prefix(character.size_bytes);
  }
  return columns;
}

}  // namespace oxbow::text
