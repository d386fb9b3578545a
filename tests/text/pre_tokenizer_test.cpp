#include "text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace oxbow::text {
namespace {

std::string pieces(std::string_view name, std::string_view text) {
  const auto splitter = PreTokenizer::create(*find_pre_tokenizer(name));
  EXPECT_TRUE(splitter);
  RegexScratch scratch;
  std::vector<size_t> ends;
  EXPECT_TRUE(splitter->split(text, scratch, ends));
  std::string joined;
  size_t begin = 0;
  for (const size_t end : ends) {
    joined += std::string(text.substr(begin, end - begin)) + "|";
    begin = end;
  }
  EXPECT_EQ(begin, text.size());
  return joined;
}

TEST(PreTokenizer, SplitsAsTheFamiliesDo) {
  EXPECT_EQ(pieces("gpt-2", "I'll pay  12345!!\n"), "I|'ll| pay| | 12345|!!|\n|");
  EXPECT_EQ(pieces("llama-bpe", "I'LL pay  12345!!\n"), "I|'LL| pay| | |123|45|!!\n|");
  EXPECT_EQ(pieces("qwen2", " 12345"), " |1|2|3|4|5|");
  EXPECT_EQ(pieces("starcoder", "a 12"), "a| |1|2|");
  EXPECT_EQ(pieces("falcon", "12345 a-b"), "123|45| a|-|b|");
  EXPECT_EQ(pieces("gpt-4o", "FooBar's"), "Foo|Bar's|");
  EXPECT_EQ(pieces("bloom", "a, b."), "a|,| b|.|");
}

TEST(PreTokenizer, KeepsMarksBesideTheirLettersForQwen35) {
  EXPECT_EQ(pieces("qwen35", "e\xCC\x81t"), "e\xCC\x81t|");
  EXPECT_EQ(pieces("qwen2", "e\xCC\x81t"), "e|\xCC\x81t|");
}

TEST(PreTokenizer, CountsStrayBytesAsOneReplacementCharacterEach) {
  // A symbol to every pattern, so that it stands where U+FFFD would.
  EXPECT_EQ(pieces("gpt-2", "ab\xFF\xFE cd\xC3"), "ab|\xFF\xFE| cd|\xC3|");
  EXPECT_EQ(pieces("gpt-2", "\xC3\xA9\x80\xC3\xA9"), "\xC3\xA9|\x80|\xC3\xA9|");
  EXPECT_EQ(pieces("gpt-2", ""), "");
}

TEST(PreTokenizer, EveryNameIsThereOnceAndCompiles) {
  std::set<std::string_view> names;
  for (const PreTokenizerInfo& info : all_pre_tokenizers()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(find_pre_tokenizer(info.name), &info);
    const auto splitter = PreTokenizer::create(info);
    EXPECT_TRUE(splitter) << splitter.error().message;
  }
  EXPECT_EQ(find_pre_tokenizer("gpt-3000"), nullptr);
  EXPECT_EQ(default_pre_tokenizer().name, "default");
}

}  // namespace
}  // namespace oxbow::text
