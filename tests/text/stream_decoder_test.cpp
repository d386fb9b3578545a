#include "text/stream_decoder.h"

#include <random>

#include "text/vocabulary_support.h"

namespace oxbow::text::testing {
namespace {

std::string stream(std::string_view bytes, size_t cut) {
  Utf8Stream decoder;
  std::string out;
  while (!bytes.empty()) {
    decoder.push(bytes.substr(0, cut), out);
    EXPECT_EQ(valid_utf8_prefix(out), out.size()) << "half a character was given out";
    EXPECT_LE(decoder.held_bytes(), 3u);
    bytes.remove_prefix(std::min(cut, bytes.size()));
  }
  decoder.flush(out);
  EXPECT_EQ(decoder.held_bytes(), 0u);
  return out;
}

const std::string kMark(kReplacementUtf8);

TEST(Utf8Stream, KeepsValidTextWhateverTheCuts) {
  const std::string text =
      "na\xC3\xAFve \xE6\x9D\xB1\xE4\xBA\xAC \xF0\x9F\xA6\x99\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB "
      "end";
  for (size_t cut = 1; cut <= text.size(); ++cut) EXPECT_EQ(stream(text, cut), text) << cut;
}

TEST(Utf8Stream, ReplacesEachLongestFrontPartOfACharacterOnce) {
  const struct {
    std::string_view bytes;
    std::string expected;
  } cases[] = {
      {"a\x80z", "a" + kMark + "z"},
      {"\xE2\x96", kMark},
      {"\xF0\x9F\xA6z", kMark + "z"},
      {"\xF0\x9F\xF0\x9F\xA6\x99", kMark + "\xF0\x9F\xA6\x99"},
      {"\xC0\xAF", kMark + kMark},
      {"\xED\xA0\x80", kMark + kMark + kMark},
      {"\xF4\x90\x80\x80", kMark + kMark + kMark + kMark},
      {"\xFF\xFE", kMark + kMark},
      {"\xE2\x82\xE2\x82\xAC", kMark + "\xE2\x82\xAC"},
  };
  for (const auto& each : cases) {
    for (size_t cut = 1; cut <= each.bytes.size(); ++cut)
      EXPECT_EQ(stream(each.bytes, cut), each.expected) << cut;
  }
}

TEST(Utf8Stream, GivesTheSameForRandomBytesWhateverTheCuts) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(1 + random() % 40, '\0');
    // High bytes are the interesting ones.
    for (char& byte : bytes)
      byte = static_cast<char>(random() % 4 == 0 ? random() % 128 : 0x80 + random() % 128);
    const std::string whole = stream(bytes, bytes.size());
    for (size_t cut = 1; cut < 6; ++cut) EXPECT_EQ(stream(bytes, cut), whole);
  }
}

TEST(StreamDecoder, HoldsTheBytesOfACharacterThatSpansTokens) {
  const auto tokenizer = tokenizer_of(byte_level_spec({}));
  ASSERT_NE(tokenizer, nullptr);
  StreamDecoder decoder(*tokenizer);
  EXPECT_EQ(decoder.push('h'), "h");
  EXPECT_EQ(decoder.push(0xF0), "");
  EXPECT_EQ(decoder.push(0x9F), "");
  EXPECT_EQ(decoder.push(0xA6), "");
  EXPECT_EQ(decoder.held_bytes(), 3u);
  EXPECT_EQ(decoder.push(0x99), "\xF0\x9F\xA6\x99");
  EXPECT_EQ(decoder.flush(), "");
  EXPECT_EQ(decoder.push(0xE2), "");
  EXPECT_EQ(decoder.flush(), kMark);
  EXPECT_EQ(decoder.push('!'), "!");
}

TEST(StreamDecoder, IgnoresControlTokensAndForeignIds) {
  const auto tokenizer = tokenizer_of(byte_level_spec({}));
  ASSERT_NE(tokenizer, nullptr);
  StreamDecoder decoder(*tokenizer), showing(*tokenizer, true);
  EXPECT_EQ(decoder.push(256), "");
  EXPECT_EQ(showing.push(256), "<|end|>");
  EXPECT_EQ(decoder.push(-1), "");
  EXPECT_EQ(decoder.push(1 << 30), "");
}

TEST(StreamDecoder, JoinsToWhatDecodeGivesForEveryVector) {
  OXBOW_NEEDS_SHARED();
  for (const std::string name : {"gpt-2", "llama-spm", "deepseek-llm"}) {
    const std::string path = "tokenizers/ggml-vocab-" + name + ".gguf";
    const auto tokenizer = shared_tokenizer(path);
    ASSERT_NE(tokenizer, nullptr);
    for (const Vector& vector : read_vectors(path + ".inp", path + ".out")) {
      StreamDecoder decoder(*tokenizer);
      std::string text;
      for (const TokenId id : vector.tokens) text += decoder.push(id);
      text += decoder.flush();
      if (tokenizer->vocabulary().add_space_prefix() && !text.empty()) text.erase(0, 1);
      EXPECT_EQ(text, vector.text) << name;
    }
  }
}

}  // namespace
}  // namespace oxbow::text::testing
