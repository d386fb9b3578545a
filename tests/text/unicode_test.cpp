#include "text/unicode.h"

#include <gtest/gtest.h>

namespace oxbow::text {
namespace {

TEST(Unicode, DecodesOneToFourByteCharacters) {
  const struct {
    std::string_view text;
    char32_t code_point;
  } cases[] = {{"a", 'a'}, {"\xC3\xA9", 0xE9}, {"\xE2\x96\x81", 0x2581}, {"\xF0\x9F\xA6\x99", 0x1F999}};
  for (const auto& each : cases) {
    const Character character = decode_character(each.text);
    EXPECT_TRUE(character.valid);
    EXPECT_EQ(character.code_point, each.code_point);
    EXPECT_EQ(character.size_bytes, each.text.size());
  }
}

TEST(Unicode, TakesWhatIsNoCharacterAsOneByte) {
  for (const std::string_view text :
       {"\x80", "\xC0\xAF", "\xC1\x81", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
        "\xF8\x88\x80\x80\x80", "\xFF", "\xC3", "\xE2\x96", "\xF0\x9F\xA6", "\xC3z"}) {
    const Character character = decode_character(text);
    EXPECT_FALSE(character.valid) << text;
    EXPECT_EQ(character.size_bytes, 1u);
    EXPECT_EQ(character.code_point, kReplacementCharacter);
    EXPECT_EQ(valid_utf8_prefix("0123456789" + std::string(text)), 10u);
  }
}

TEST(Unicode, AppendsWhatItDecodes) {
  for (const char32_t code_point : {U'\0', U'a', U'\u007F', U'\u0080', U'\u07FF', U'\u0800', U'\uD7FF',
                                    U'\uE000', U'\uFFFF', U'\U00010000', U'\U0010FFFF'}) {
    std::string text;
    append_utf8(text, code_point);
    const Character character = decode_character(text);
    EXPECT_TRUE(character.valid);
    EXPECT_EQ(character.code_point, code_point);
    EXPECT_EQ(character.size_bytes, text.size());
  }
  for (const auto number : {0xD800u, 0xDFFFu, 0x110000u, 0xFFFFFFFFu}) {
    std::string text;
    append_utf8(text, number);
    EXPECT_EQ(text, kReplacementUtf8);
  }
}

TEST(Unicode, CountsTerminalColumns) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("\xE6\x9D\xB1\xE4\xBA\xAC"), 4u);  // two Han characters
  EXPECT_EQ(display_width("e\xCC\x81"), 1u);                 // e and a combining accent
  EXPECT_EQ(display_width("a\xFFz"), 3u);
  EXPECT_EQ(display_width(""), 0u);
}

}  // namespace
}  // namespace oxbow::text
