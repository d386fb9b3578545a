#pragma once
// UTF-8: the one place that calls utf8proc. Any byte sequence is accepted; what is not UTF-8 (overlong forms,
// surrogates and numbers above U+10FFFF included) is reported, never skipped. Safe from any thread.

#include <cstddef>
#include <string>
#include <string_view>

namespace oxbow::text {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;
inline constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

// One character, or one byte that starts none.
struct Character {
  char32_t code_point = kReplacementCharacter;
  size_t size_bytes = 1;
  bool valid = false;
};

// The character at the front of text, which must not be empty.
Character decode_character(std::string_view text);

// Bytes of the longest front part of text that is UTF-8 as a whole.
size_t valid_utf8_prefix(std::string_view text);

// Appends a character's one to four bytes; U+FFFD for numbers that are no character.
void append_utf8(std::string& out, char32_t code_point);

// What Unicode says of a character (general category).
bool is_letter(char32_t c);   // L*
bool is_upper(char32_t c);    // Lu
bool is_lower(char32_t c);    // Ll
bool is_title(char32_t c);    // Lt
bool is_decimal(char32_t c);  // Nd
bool is_space(
    char32_t c);  // Zs, and what Python's str.isspace() counts: U+0009-D, U+001C-20, U+0085, U+2028-9
// Whether a terminal shows it as a sign of its own: neither control, format, surrogate, private, unassigned
// nor a separator other than U+0020.
bool is_printable(char32_t c);

// Letter case, one character for one ("ß" stays, where full mappings write "SS").
char32_t to_upper(char32_t c);
char32_t to_lower(char32_t c);
char32_t to_title(char32_t c);

// Columns that text takes in a terminal: 0 for combining marks and controls, 2 for wide characters. Bytes
// that are no UTF-8 count as U+FFFD.
size_t display_width(std::string_view text);

}  // namespace oxbow::text
