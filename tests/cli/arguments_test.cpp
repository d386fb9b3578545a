#include "cli/arguments.h"

#include <gtest/gtest.h>

namespace oxbow::cli {
namespace {

using Strings = std::vector<std::string>;

const std::vector<Flag> kFlags = {
    {{"-p", "--prompt"}, true, false},  {{"-n", "--predict", "--n-predict"}, true, true},
    {{"-t", "--threads"}, true, true},  {{"--temp", "--temperature"}, true, true},
    {{"--system-prompt"}, true, false}, {{"--cache-type-k"}, true, false},
    {{"--cache-type-v"}, true, false},  {{"-v", "--verbose"}, false, false},
    {{"--json"}, false, false},         {{"-c", "--ctx-size"}, true, true},
};

Strings flags_of(const Strings& arguments) {
  const auto normal = normalize_arguments(arguments, kFlags);
  EXPECT_TRUE(normal) << (normal ? "" : normal.error().message);
  return normal ? normal->flags : Strings();
}

std::string error_of(const Strings& arguments) {
  const auto normal = normalize_arguments(arguments, kFlags);
  EXPECT_FALSE(normal);
  return normal ? std::string() : normal.error().message;
}

TEST(Arguments, FlagsOfSeveralLettersBecomeLongOnes) {
  EXPECT_EQ(flags_of({"-sys", "be kind", "-ctk", "f32", "-ctv=f16"}),
            (Strings{"--system-prompt", "be kind", "--cache-type-k", "f32", "--cache-type-v", "f16"}));
}

TEST(Arguments, ValuesAreNotTouchedWhateverTheyLookLike) {
  EXPECT_EQ(flags_of({"-p", "-sys", "--prompt", "--", "-p", "-ctk=f32", "-n", "-1"}),
            (Strings{"-p", "-sys", "--prompt", "--", "-p", "-ctk=f32", "-n", "-1"}));
  EXPECT_EQ(flags_of({"--prompt=a=b"}), (Strings{"--prompt", "a=b"}));
  EXPECT_EQ(flags_of({"-p", ""}), (Strings{"-p", ""}));
}

TEST(Arguments, ANumberMayFollowItsFlagAtOnce) {
  EXPECT_EQ(flags_of({"-n64", "-t4", "-n-1"}), (Strings{"-n", "64", "-t", "4", "-n", "-1"}));
  EXPECT_EQ(error_of({"-p5"}), "unknown option -p5; --help lists the options");
}

TEST(Arguments, WordsAreKeptApartAndEverythingAfterTwoDashesIsAWord) {
  const auto normal = normalize_arguments(Strings{"file", "-v", "-", "--", "-n", "x"}, kFlags);
  ASSERT_TRUE(normal);
  EXPECT_EQ(normal->flags, Strings{"-v"});
  EXPECT_EQ(normal->words, (Strings{"file", "-", "-n", "x"}));
}

TEST(Arguments, AnUnknownFlagNamesTheNearest) {
  EXPECT_EQ(error_of({"--tmp", "1"}), "unknown option --tmp, did you mean --temp?");
  EXPECT_EQ(error_of({"-temp", "1"}), "unknown option -temp, did you mean --temp?");
  EXPECT_EQ(error_of({"--thraeds=2"}), "unknown option --thraeds, did you mean --threads?");
  EXPECT_EQ(error_of({"--ctx_size", "2"}), "unknown option --ctx_size, did you mean --ctx-size?");
  EXPECT_EQ(error_of({"--max-tokens", "2"}), "unknown option --max-tokens, did you mean --n-predict?");
  EXPECT_EQ(error_of({"-sysp", "x"}), "unknown option -sysp, did you mean -sys?");
  EXPECT_EQ(error_of({"--frobnicate"}), "unknown option --frobnicate; --help lists the options");
}

TEST(Arguments, AKnownShortNameOfAnotherCommandIsUnknown) {
  EXPECT_EQ(error_of({"-ngl", "9"}).substr(0, 19), "unknown option -ngl");
}

TEST(Arguments, AMissingAndASuperfluousValueAreNamed) {
  EXPECT_EQ(error_of({"-p"}), "-p needs a value");
  EXPECT_EQ(error_of({"--json=yes"}), "--json takes no value, \"yes\" was given");
}

TEST(Arguments, NearestLooksAtNeighboursSwapsAndBeginnings) {
  const Strings words = {"run", "show", "tokenize", "logits"};
  EXPECT_EQ(nearest("rnu", words), "run");
  EXPECT_EQ(nearest("shwo", words), "show");
  EXPECT_EQ(nearest("tok", words), "tokenize");
  EXPECT_EQ(nearest("xyz", words), "");
  EXPECT_EQ(nearest("", words), "");
}

}  // namespace
}  // namespace oxbow::cli
