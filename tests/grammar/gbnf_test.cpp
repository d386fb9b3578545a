#include <gtest/gtest.h>

#include <algorithm>

#include "grammar/expressions.h"
#include "grammar/grammar_support.h"

namespace oxbow::grammar {
namespace {

using namespace testing;

TEST(Gbnf, ReadsTextsAlternativesAndGroups) {
  const auto grammar =
      gbnf("root ::= \"a\" (\"b\" | \"c\" \"d\")+ end # comment\nend ::= \"\\x21\" |\n  \"?\"\n");
  EXPECT_TRUE(matches(grammar, "ab!"));
  EXPECT_TRUE(matches(grammar, "acdb?"));
  EXPECT_FALSE(matches(grammar, "a!"));
  EXPECT_FALSE(matches(grammar, "acb!"));
  EXPECT_FALSE(matches(grammar, "ab"));
}

TEST(Gbnf, CountsRepetitions) {
  const auto grammar = gbnf("root ::= \"a\"{2,3} [0-9]{1,} \"b\"{0} \"c\"{,2} \"xyz\"{40,100}");
  std::string forty;
  for (int i = 0; i < 40; ++i) forty += "xyz";
  EXPECT_TRUE(matches(grammar, "aa1" + forty));
  EXPECT_TRUE(matches(grammar, "aaa123cc" + forty + forty + "xyz"));
  EXPECT_FALSE(matches(grammar, "a1" + forty));
  EXPECT_FALSE(matches(grammar, "aa" + forty));
  EXPECT_FALSE(matches(grammar, "aa1ccc" + forty));
  EXPECT_FALSE(matches(grammar, "aa1" + forty.substr(3)));
  EXPECT_FALSE(matches(grammar, "aa1" + forty + forty + forty));
}

TEST(Gbnf, ReadsSetsOverCharacters) {
  const auto grammar = gbnf("root ::= [a-c\\]é-ü] [^x\\n] .");
  EXPECT_TRUE(matches(grammar, "a😀b"));
  EXPECT_TRUE(matches(grammar, "ó]\n"));
  EXPECT_TRUE(matches(grammar, "]\xE2\x82\xAC\xEF\xBF\xBF"));
  EXPECT_FALSE(matches(grammar, "axb"));
  EXPECT_FALSE(matches(grammar, "a\nb"));
  EXPECT_FALSE(matches(grammar,
                       "a\xED\xA0\x80"
                       "b"));  // a surrogate
  EXPECT_FALSE(matches(grammar,
                       "a\xC0\x80"
                       "b"));  // an overlong form
  EXPECT_FALSE(matches(grammar, "\xC3"));
}

TEST(Gbnf, EveryCharacterOfASetIsAccepted) {
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    std::string source = "root ::= [";
    std::vector<CharacterRange> ranges;
    for (int i = 0; i < 3; ++i) {
      const char32_t a = random() % (i == 0 ? 0x200 : i == 1 ? 0x11000 : 0x110000), b = a + random() % 3000;
      for (const auto& range : normalized({{a, std::min<char32_t>(b, 0x10FFFF)}})) {
        source += fmt::format("\\U{:08x}-\\U{:08x}", static_cast<uint32_t>(range.first),
                              static_cast<uint32_t>(range.last));
        ranges.push_back(range);
      }
    }
    const auto grammar = gbnf(source + "]");
    ASSERT_TRUE(grammar);
    const auto inside = [&](char32_t c) {
      return std::ranges::any_of(ranges,
                                 [&](const auto& range) { return c >= range.first && c <= range.last; });
    };
    std::vector<char32_t> probes;
    for (const auto& [first, last] : ranges) {
      for (const int offset : {-65, -64, -1, 0, 1, 64}) {
        probes.push_back(first + offset);
        probes.push_back(last + offset);
      }
    }
    for (const char32_t c : probes) {
      if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) continue;
      std::string bytes;
      text::append_utf8(bytes, c);
      EXPECT_EQ(matches(grammar, bytes), inside(c)) << source << " " << static_cast<uint32_t>(c);
    }
  }
}

TEST(Gbnf, ReadsRecursionAndEmptyRounds) {
  const auto nested = gbnf("root ::= \"(\" root* \")\"");
  EXPECT_TRUE(matches(nested, "(()(()))"));
  EXPECT_FALSE(matches(nested, "(()"));
  const auto empty = gbnf("root ::= ((\"a\"?)*)* (\"b\"* \"c\"?){5,1000} \"!\"");
  EXPECT_TRUE(matches(empty, "!"));
  EXPECT_TRUE(matches(empty, "aaabbcbcccccccc!"));
  const auto right = gbnf("root ::= \"a\" root | \"b\"");
  EXPECT_TRUE(matches(right, std::string(5000, 'a') + "b"));
}

TEST(Gbnf, NamesPlacesOfErrors) {
  EXPECT_EQ(gbnf_error("root ::= \"a\"\n  b"), "grammar, line 2, column 3: rule 'b' is not defined");
  EXPECT_EQ(gbnf_error("root ::= (\"a\""), "grammar, line 1, column 10: this group is not closed");
  EXPECT_EQ(gbnf_error("root ::= \"a"), "grammar, line 1, column 10: this text is not closed");
  EXPECT_EQ(gbnf_error("root ::= [b-a]"), "grammar, line 1, column 12: this range ends before it begins");
  EXPECT_EQ(gbnf_error("root ::= \"\\q\""), "grammar, line 1, column 11: unknown escape");
  EXPECT_EQ(gbnf_error("root ::= \"a\"{3,2}"),
            "grammar, line 1, column 13: 3 repetitions at least, but 2 at most");
  EXPECT_EQ(gbnf_error("root ::= <nosuch>"),
            "grammar, line 1, column 10: the vocabulary has no token <nosuch>");
  EXPECT_NE(gbnf_error(""), "");
  EXPECT_NE(gbnf_error("root = \"a\""), "");
  EXPECT_NE(gbnf_error("root ::= " + std::string(1000, '(')), "");
}

TEST(Gbnf, RefusesLeftRecursionAndRulesThatNeverEnd) {
  EXPECT_EQ(gbnf_error("root ::= a\na ::= b? a \"x\" | \"y\"\nb ::= \"z\""),
            "rule 'a' begins with itself (left recursion)");
  EXPECT_EQ(gbnf_error("root ::= \"a\" root"), "no text can satisfy the grammar: rule 'root' never ends");
  // A way that never ends is not offered.
  const auto grammar = gbnf("root ::= \"a\" | \"b\" endless\nendless ::= \"c\" endless");
  Constraint constraint(grammar);
  EXPECT_EQ(allowed(constraint.mask()), std::vector<TokenId>{'a'});
}

TEST(Gbnf, OffersControlTokensWhereTheGrammarNamesThem) {
  const auto grammar = gbnf("root ::= <|mark|> \"a\" | <[257]> \"b\"");
  Constraint constraint(grammar);
  EXPECT_EQ(allowed(constraint.mask()), std::vector<TokenId>{257});
  ASSERT_TRUE(constraint.accept(257));
  EXPECT_FALSE(constraint.accept(257));
  ASSERT_TRUE(constraint.accept('b'));
  EXPECT_TRUE(constraint.is_complete());
  EXPECT_EQ(allowed(constraint.mask()), std::vector<TokenId>{256});
}

// The mask says for every token what reading its bytes one by one says.
TEST(Mask, AgreesWithReadingBytes) {
  std::mt19937 random(11);
  for (const char* source : {"root ::= \"{\" [^\"]* \"\\\"\" (\",\" root)? \"}\"",
                             "root ::= (\"a\" | \"ab\" | \"abc\"){0,7} [\\\"n]? \"é\"*",
                             "root ::= \"[\" (root (\",\" root)*)? \"]\" | [0-9]{1,3}",
                             "root ::= .{3,200} \"true\"", "root ::= s{2,90}\ns ::= [a-z\\\"]{1,40} \", \"?",
                             "root ::= \"(\" root \")\" | [é你\\\"] | \"[[\" root \"]]\""}) {
    const auto grammar = gbnf(source);
    for (int round = 0; round < 6; ++round) {
      Constraint constraint(grammar);
      for (int step = 0; step < 30 && !constraint.is_complete(); ++step) {
        const TokenMask mask = constraint.mask();
        for (size_t i = 0; i < mask.size(); ++i) {
          const auto id = static_cast<TokenId>(i);
          if (model().vocabulary->bytes(id).empty()) continue;
          Constraint fork = constraint;
          bool fits = true;
          for (const char byte : model().vocabulary->bytes(id))
            fits = fits && fork.accept(static_cast<uint8_t>(byte)).has_value();
          ASSERT_EQ(mask.allows(id), fits) << source << ": " << model().vocabulary->bytes(id);
        }
        ASSERT_EQ(mask.allows(256), constraint.may_end());
        const auto ids = allowed(mask);
        ASSERT_FALSE(ids.empty());
        ASSERT_TRUE(constraint.accept(ids[random() % ids.size()]));
      }
    }
  }
}

TEST(Mask, DeepNestingEndsInsteadOfLeadingAstray) {
  const auto grammar =
      gbnf("root ::= value\nvalue ::= \"[\" (value (\",\" value)*)? \"]\" | \"{\" value \"}\" | [0-9]");
  Constraint constraint(grammar);
  std::string text;
  for (int step = 0; step < 5000 && !constraint.is_complete(); ++step) {
    const TokenMask& mask = constraint.mask();
    TokenId pick = '[';
    for (const char c : {'[', '{', ']', '}', '1'}) {
      if (mask.allows(c)) {
        pick = c;
        break;
      }
    }
    ASSERT_TRUE(constraint.accept(pick)) << step;
  }
  EXPECT_TRUE(constraint.is_complete());
}

TEST(Mask, HostileGrammarsStayWithinTheirLimits) {
  const char* const sources[] = {
      "root ::= (\"a\"{0,1000}){0,1000} \"b\"",
      "root ::= (a a a a a a a a a a)*\na ::= \"a\"? \"a\"? \"a\"? \"a\"{0,500}",
      "root ::= s s | \"a\"\ns ::= \"a\" s s | \"a\" s | \"a\"",
      "root ::= ((((((((.*)*)*)*)*)*)*)*)*",
  };
  for (const char* source : sources) {
    const auto grammar = gbnf(source);
    ASSERT_TRUE(grammar) << source;
    Constraint constraint(grammar);
    for (int step = 0; step < 40 && !constraint.is_complete(); ++step) {
      ASSERT_GT(constraint.mask().count(), 0u) << source;
      ASSERT_TRUE(constraint.accept('a')) << source << " " << step;
    }
  }
  EXPECT_NE(gbnf_error("root ::= a{1000}\na ::= (b b b b){1000}\nb ::= root"), "");
}

}  // namespace
}  // namespace oxbow::grammar
