#include "cli/values.h"

#include <gtest/gtest.h>

namespace oxbow::cli {
namespace {

using Tokens = std::vector<TokenId>;

std::string error_of(std::string_view text) {
  const auto tokens = parse_tokens(text);
  EXPECT_FALSE(tokens) << text;
  return tokens ? std::string() : tokens.error().message;
}

TEST(Values, TokensMayBeSeparatedByBlanksOrCommas) {
  EXPECT_EQ(parse_tokens("1 2 3"), (Tokens{1, 2, 3}));
  EXPECT_EQ(parse_tokens(" 1,2,  3\n4\t5\r\n"), (Tokens{1, 2, 3, 4, 5}));
  EXPECT_EQ(parse_tokens("2147483647"), Tokens{2147483647});
}

TEST(Values, AWrongTokenIsNamedWithItsPlace) {
  EXPECT_EQ(error_of("1 2 x3"), "token 2 of the list is \"x3\", expected a number from 0");
  EXPECT_EQ(error_of("-1"), "token 0 of the list is \"-1\", expected a number from 0");
  EXPECT_EQ(error_of("1 2.5"), "token 1 of the list is \"2.5\", expected a number from 0");
  EXPECT_EQ(error_of("2147483648").substr(0, 19), "token 0 of the list");
  EXPECT_EQ(error_of("[1, 2]").substr(0, 24), "token 0 of the list is \"");
  EXPECT_EQ(error_of(" \n"), "the list of tokens is empty, expected for example \"1 2 3\"");
  EXPECT_LT(error_of(std::string(100000, 'x')).size(), 120u);
}

TEST(Values, NumbersCountAsAWholeOnly) {
  EXPECT_EQ(parse_integer("-1"), -1);
  EXPECT_EQ(parse_integer("+7"), 7);
  EXPECT_EQ(parse_real("0.5"), 0.5);
  EXPECT_EQ(parse_real("1e-2"), 0.01);
  for (const char* text : {"", "1x", " 1", "1 ", "0x10", "nan", "+", "9223372036854775808"}) {
    EXPECT_FALSE(parse_integer(text)) << text;
  }
  for (const char* text : {"", "nan", "inf", "1e999", "1,5", "0.5x"}) EXPECT_FALSE(parse_real(text)) << text;
}

TEST(Values, SizesHaveUnitsOf1024AndMayNotOverflow) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("512"), 512u);
  EXPECT_EQ(parse_size("2k"), 2048u);
  EXPECT_EQ(parse_size("64M"), uint64_t{64} << 20);
  EXPECT_EQ(parse_size("3G"), uint64_t{3} << 30);
  for (const char* text : {"", "M", "-1", "1T", "1.5G", "9999999999G", "9223372036854775807K"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

TEST(Values, CountsAreListsAndRanges) {
  const auto counts = [](std::string_view text) { return *parse_counts(text); };
  EXPECT_EQ(counts("5"), std::vector<size_t>{5});
  EXPECT_EQ(counts("512,2048,0"), (std::vector<size_t>{512, 2048, 0}));
  EXPECT_EQ(counts("1-4"), (std::vector<size_t>{1, 2, 3, 4}));
  EXPECT_EQ(counts("128-512+128"), (std::vector<size_t>{128, 256, 384, 512}));
  EXPECT_EQ(counts("1-16*2,3"), (std::vector<size_t>{1, 2, 4, 8, 16, 3}));
  EXPECT_EQ(counts("1-64").size(), 64u);
  for (const char* text : {"", ",", "1,", "x", "-1", "+1", "1-", "4-1", "1-4+0", "1-4*1", "0-4*2", "1-4+",
                           " 1", "1-65", "9999999999999999999"}) {
    EXPECT_FALSE(parse_counts(text)) << text;
  }
}

}  // namespace
}  // namespace oxbow::cli
