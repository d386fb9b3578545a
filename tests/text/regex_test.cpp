#include "text/regex.h"

#include <gtest/gtest.h>

#include <string>

namespace oxbow::text {
namespace {

struct Found {
  Regex::Outcome outcome;
  size_t begin = 0, end = 0;
};

Found search(std::string_view pattern, std::string_view subject, size_t start = 0) {
  const auto regex = Regex::compile(pattern);
  EXPECT_TRUE(regex);
  RegexScratch scratch;
  Found found{};
  found.outcome = regex->search(subject, start, scratch, found.begin, found.end);
  return found;
}

TEST(Regex, FindsTheFirstMatchAtOrAfterTheStart) {
  const Found found = search("\\p{L}+", "12 \xC3\xA9t\xC3\xA9 34 x", 1);
  EXPECT_EQ(found.outcome, Regex::Outcome::kMatch);
  EXPECT_EQ(found.begin, 3u);
  EXPECT_EQ(found.end, 8u);
  EXPECT_EQ(search("\\p{L}+", "12 34").outcome, Regex::Outcome::kNoMatch);
}

TEST(Regex, TakesTheEndOfTheSubjectAsTheEndOfText) {
  const std::string text = "a  b";
  EXPECT_EQ(search("\\s+(?!\\S)", std::string_view(text).substr(0, 3)).end, 3u);
  EXPECT_EQ(search("\\s+(?!\\S)", text).end, 2u);
  EXPECT_EQ(search("x$", "x\n").outcome, Regex::Outcome::kNoMatch);
}

TEST(Regex, NamesThePatternAndTheOffsetOfAMistake) {
  const auto regex = Regex::compile("a(b");
  ASSERT_FALSE(regex);
  EXPECT_NE(regex.error().message.find("a(b"), std::string::npos);
  EXPECT_NE(regex.error().message.find("offset 3"), std::string::npos);
}

TEST(Regex, GivesUpOnAPatternThatBacktracksWithoutEnd) {
  EXPECT_EQ(search("(a|a|ab?)+\\d", std::string(40, 'a')).outcome, Regex::Outcome::kGaveUp);
}

TEST(Regex, NeedsNoStackForLongRepeatsOfGroups) {
  // Such a pattern outgrows the machine-code matcher's stack; the interpreter takes over.
  const std::string text(1 << 16, 'a');
  const Found found = search("(?:(?=\\p{L})([^A-Z]|b))+", text);
  EXPECT_EQ(found.outcome, Regex::Outcome::kMatch);
  EXPECT_EQ(found.end, text.size());
}

}  // namespace
}  // namespace oxbow::text
