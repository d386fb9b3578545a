#include "text/tokenizer.h"

#include <algorithm>
#include <random>

#include "text/vocabulary_support.h"

namespace oxbow::text::testing {
namespace {

std::string random_bytes(std::mt19937& random, size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random() % 256);
  return bytes;
}

TEST(ByteLevelBpe, AppliesMergesByRankLeftmostFirst) {
  const auto tokenizer = tokenizer_of(byte_level_spec({"b c", "a b", "a a", "aa a", "bc d"}));
  ASSERT_NE(tokenizer, nullptr);
  const auto texts = [&](std::string_view text) {
    std::string joined;
    for (const TokenId id : tokenizer->encode(text, kPlain))
      joined += std::string(tokenizer->token_bytes(id)) + "|";
    return joined;
  };
  EXPECT_EQ(texts("abc"), "a|bc|");
  EXPECT_EQ(texts("abcd"), "a|bcd|");
  EXPECT_EQ(texts("aaaaa"), "aa|aaa|");
  EXPECT_EQ(texts("abab"), "ab|ab|");
  EXPECT_EQ(texts(""), "");
}

TEST(ByteLevelBpe, ShortAndLongPiecesMergeAlike) {
  const auto tokenizer =
      tokenizer_of(byte_level_spec({"a b", "b a", "a a", "ab a", "aa b", "aba ab", "b b", "ba bb"}));
  ASSERT_NE(tokenizer, nullptr);
  const BytePairEncoder encoder(tokenizer->vocabulary());
  // The naive rule, on text: find the best rank, leftmost, join, again.
  const auto naive = [&](std::string_view piece) {
    std::vector<uint32_t> symbols(piece.begin(), piece.end());
    const auto merges = tokenizer->vocabulary().merges();
    for (;;) {
      size_t best = merges.size(), at = 0;
      for (size_t i = 0; i + 1 < symbols.size(); ++i) {
        for (size_t rank = 0; rank < best; ++rank) {
          if (merges[rank].left == symbols[i] && merges[rank].right == symbols[i + 1]) {
            best = rank;
            at = i;
          }
        }
      }
      if (best == merges.size()) return TokenIds(symbols.begin(), symbols.end());
      symbols[at] = merges[best].result;
      symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(at) + 1);
    }
  };
  std::mt19937 random(3);
  BytePairEncoder::Scratch scratch;
  for (int round = 0; round < 400; ++round) {
    std::string piece(1 + random() % 80, 'a');
    for (char& letter : piece) letter = static_cast<char>('a' + random() % 2);
    TokenIds tokens;
    encoder.encode(piece, scratch, tokens);
    ASSERT_EQ(tokens, naive(piece)) << piece;
  }
}

TEST(ByteLevelBpe, MergesMayGoThroughTextsThatAreNoTokens) {
  VocabularySpec spec = byte_level_spec({"a b", "ab c"});
  spec.tokens.erase(spec.tokens.begin() + 257);  // "ab"
  spec.kinds.pop_back();
  const auto tokenizer = tokenizer_of(spec);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->encode("abc", kPlain), TokenIds{257});
  EXPECT_EQ(tokenizer->encode("abd", kPlain), (TokenIds{'a', 'b', 'd'}));
}

TEST(ByteLevelBpe, NeverMergesPlainTextIntoAControlToken) {
  VocabularySpec spec = byte_level_spec({"e n", "en d"});
  spec.kinds[258] = 3;  // "end"
  spec.pre = "llama-bpe";
  const auto tokenizer = tokenizer_of(spec);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->encode("end", kPlain), (TokenIds{'e', 'n', 'd'}));
  EXPECT_EQ(tokenizer->encode("end", {}), TokenIds{258});
}

TEST(ByteLevelBpe, TakesAWholePieceThatIsATokenWhereThePreTokenizerSaysSo) {
  VocabularySpec spec = byte_level_spec({});
  spec.tokens.emplace_back("word");
  spec.kinds.push_back(1);
  EXPECT_EQ(tokenizer_of(spec)->encode("word", kPlain).size(), 4u);
  spec.pre = "llama-bpe";
  EXPECT_EQ(tokenizer_of(spec)->encode("word", kPlain), TokenIds{257});
}

TEST(ByteLevelBpe, ReplacesBytesThatHaveNoToken) {
  VocabularySpec spec = byte_level_spec({});
  spec.tokens[0xFF] = "[gone]";
  auto tokenizer = tokenizer_of(spec);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("a\xFFz", kPlain)), "a\xEF\xBF\xBDz");

  spec = VocabularySpec{};
  spec.tokens = {"a", "[unknown]"};
  spec.kinds = {1, 2};
  tokenizer = tokenizer_of(spec);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->encode("aba", kPlain), (TokenIds{0, 0}));
  spec.extra = [](gguf::Writer& writer) { writer.add_uint32("tokenizer.ggml.unknown_token_id", 1); };
  tokenizer = tokenizer_of(spec);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->encode("aba", kPlain), (TokenIds{0, 1, 0}));
}

TEST(SentencePieceBpe, JoinsByScoreAndFallsBackToBytes) {
  const auto tokenizer = tokenizer_of(sentence_piece_spec({"\xE2\x96\x81", "a", "b", "ab", "ba",
                                                           "\xE2\x96\x81"
                                                           "ab"}));
  ASSERT_NE(tokenizer, nullptr);
  const TokenId space = 259, a = 260, ab = 262, space_ab = 264;
  EXPECT_EQ(tokenizer->encode("ab", kPlain), TokenIds{space_ab});
  EXPECT_EQ(tokenizer->encode("aba", kPlain), (TokenIds{space_ab, a}));
  EXPECT_EQ(tokenizer->encode("aab", kPlain), (TokenIds{space, a, ab}));
  EXPECT_EQ(tokenizer->encode("\xC3\xA9", kPlain), (TokenIds{space, 3 + 0xC3, 3 + 0xA9}));
  EXPECT_EQ(tokenizer->encode("", kPlain), TokenIds{});
  EXPECT_EQ(tokenizer->encode("", {}), TokenIds{1});
}

TEST(SentencePieceBpe, CutsAtSpacesOnlyWhereNoTokenSpansThem) {
  // "a_a" stands across a space, and its score is better than what a cut would give.
  VocabularySpec spec = sentence_piece_spec({"a\xE2\x96\x81",
                                             "a\xE2\x96\x81"
                                             "a",
                                             "\xE2\x96\x81",
                                             "\xE2\x96\x81"
                                             "a",
                                             "a", "b",
                                             "\xE2\x96\x81"
                                             "b"});
  const auto tokenizer = tokenizer_of(spec);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->encode("ba a", kPlain), (TokenIds{265, 260}));
  const SentencePieceEncoder encoder(tokenizer->vocabulary());
  EXPECT_EQ(encoder.piece_end("a\xE2\x96\x81"
                              "b\xE2\x96\x81"
                              "b"),
            5u);
}

TEST(SentencePieceBpe, NeverJoinsPlainTextIntoAControlOrByteToken) {
  const auto tokenizer = tokenizer_of(sentence_piece_spec(
      {"\xE2\x96\x81", "<", "<s", "s", ">", "<0", "<0x", "<0x4", "<0x41", "0", "x", "4", "1"}));
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("<s>", kPlain)), "<s>");
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("<0x41>", kPlain)), "<0x41>");
  EXPECT_EQ(tokenizer->encode("<s>", {.add_special = false, .parse_special = true}), TokenIds{1});
}

TEST(SentencePieceBpe, PutsTheSpacePrefixAfterSpecialTokensToo) {
  VocabularySpec spec = sentence_piece_spec({"\xE2\x96\x81", "a"});
  const EncodeOptions special{.add_special = false, .parse_special = true};
  EXPECT_EQ(tokenizer_of(spec)->encode("a</s>a", special), (TokenIds{259, 260, 2, 259, 260}));
  spec.extra = [](gguf::Writer& writer) { writer.add_bool("tokenizer.ggml.add_space_prefix", false); };
  const auto tokenizer = tokenizer_of(spec);
  EXPECT_EQ(tokenizer->encode("a</s>a", special), (TokenIds{260, 2, 260}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(" a", {})), " a");
}

TEST(SpecialTokens, AreFoundFromTheLeftLongestFirst) {
  VocabularySpec spec = byte_level_spec({});
  for (const char* text : {"<a>", "<a><b>", "<b>", "<a"}) {
    spec.tokens.emplace_back(text);
    spec.kinds.push_back(3);
  }
  const auto tokenizer = tokenizer_of(spec);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->encode("<a><b>", {}), TokenIds{258});
  EXPECT_EQ(tokenizer->encode("<a><a>x<b>", {}), (TokenIds{257, 257, 'x', 259}));
  EXPECT_EQ(tokenizer->encode("<a<", {}), (TokenIds{260, '<'}));
  EXPECT_EQ(tokenizer->encode("<a>", kPlain), (TokenIds{'<', 'a', '>'}));
}

TEST(SpecialTokens, UserDefinedOnesAreAlwaysFound) {
  VocabularySpec spec = byte_level_spec({});
  spec.tokens.emplace_back("  ");
  spec.kinds.push_back(4);
  const auto tokenizer = tokenizer_of(spec);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->encode("a     b", kPlain), (TokenIds{'a', 257, 257, ' ', 'b'}));
  EXPECT_EQ(tokenizer->decode(TokenIds{'a', 257}), "a  ");
}

TEST(Tokenizer, AddsBeginAndEndTokensWhereAskedTo) {
  VocabularySpec spec = byte_level_spec({});
  spec.extra = [](gguf::Writer& writer) {
    writer.add_uint32("tokenizer.ggml.bos_token_id", 256);
    writer.add_uint32("tokenizer.ggml.eos_token_id", 0);
    writer.add_bool("tokenizer.ggml.add_bos_token", true);
    writer.add_bool("tokenizer.ggml.add_eos_token", true);
  };
  const auto tokenizer = tokenizer_of(spec);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->encode("x", {}), (TokenIds{256, 'x', 0}));
  EXPECT_EQ(tokenizer->encode("", {}), (TokenIds{256, 0}));
  EXPECT_EQ(tokenizer->encode("x", kPlain), TokenIds{'x'});
}

TEST(Tokenizer, ShowsControlTokensOnlyOnRequest) {
  const auto tokenizer = tokenizer_of(byte_level_spec({}));
  ASSERT_NE(tokenizer, nullptr);
  const TokenIds tokens = {'a', 256, 'b', -5, 100000};
  EXPECT_EQ(tokenizer->decode(tokens), "ab");
  EXPECT_EQ(tokenizer->decode(tokens, true), "a<|end|>b");
}

TEST(Tokenizer, RandomBytesComeBackThroughEveryPreTokenizer) {
  std::mt19937 random(11);
  for (const PreTokenizerInfo& info : all_pre_tokenizers()) {
    VocabularySpec spec = byte_level_spec({"a b", "\xC4\xA0 \xC4\xA0", "\xC3\xA2 \xC4\xA2"});
    spec.pre = info.name;
    const auto tokenizer = tokenizer_of(spec);
    ASSERT_NE(tokenizer, nullptr);
    for (int round = 0; round < 20; ++round) {
      const std::string text = random_bytes(random, random() % 300);
      EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, kPlain)), text) << info.name;
    }
  }
}

TEST(Tokenizer, RandomBytesComeBackThroughByteFallback) {
  const auto tokenizer = tokenizer_of(sentence_piece_spec({"\xE2\x96\x81", "a", "e", "\xC3\xA9"}));
  ASSERT_NE(tokenizer, nullptr);
  std::mt19937 random(12);
  for (int round = 0; round < 100; ++round) {
    const std::string text = random_bytes(random, random() % 300);
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, kPlain)), text);
  }
}

TEST(Tokenizer, TheCacheOfPiecesChangesNothing) {
  OXBOW_NEEDS_SHARED();
  for (const std::string name : {"gpt-2", "llama-spm"}) {
    const auto tokenizer = shared_tokenizer("tokenizers/ggml-vocab-" + name + ".gguf");
    ASSERT_NE(tokenizer, nullptr);
    // Long enough for the cache; the lines are short enough to go without, and a line break ends a piece.
    std::mt19937 random(5);
    std::string text;
    TokenIds separate;
    while (text.size() < 40000) {
      std::string line = "x";
      for (int word = 0; word < 6; ++word) line += fmt::format(" w{}ord{}", random() % 40, random() % 7);
      line += "\n";
      text += line;
      auto tokens = tokenizer->encode(line, kPlain);
      // A SentencePiece line is encoded on its own with a space that the joined text lacks.
      if (tokenizer->vocabulary().add_space_prefix()) continue;
      separate.insert(separate.end(), tokens.begin(), tokens.end());
    }
    const auto tokens = tokenizer->encode(text, kPlain);
    EXPECT_EQ(tokenizer->decode(tokens), text);
    if (!separate.empty()) {
      EXPECT_EQ(tokens, separate);
    }
  }
}

constexpr std::string_view kCharacters[] = {" ",
                                            "a",
                                            "A",
                                            "7",
                                            "\n",
                                            "\r",
                                            "\t",
                                            "!",
                                            "'",
                                            "~",
                                            "\xC3\xA9",
                                            "\xCC\x81",
                                            "\xE6\x9D\xB1",
                                            "\xE3\x80\x80",
                                            "\xE2\x80\x83",
                                            "\xF0\x9F\xA6\x99",
                                            "\xFF",
                                            "\xC3",
                                            "\xE2\x96",
                                            "\xE2\x96\x81",
                                            std::string_view("\0", 1)};

void expect_linear_work(const VocabularySpec& spec, size_t size_bytes, const std::vector<std::string>& ends) {
  const auto tokenizer = tokenizer_of(spec);
  ASSERT_NE(tokenizer, nullptr);
  LogCapture log;
  for (const std::string_view character : kCharacters) {
    std::string run;
    while (run.size() < size_bytes) run.append(character);
    for (const std::string& end : ends) {
      const std::string text = run + end;
      const auto tokens = tokenizer->encode(text, kPlain);
      EXPECT_LE(tokens.size(), text.size() + kSpaceMark.size());
      if (spec.model == "llama" && character == kSpaceMark) continue;  // comes back as spaces
      ASSERT_EQ(tokenizer->decode(tokens) == text, true) << spec.pre << ": " << character;
    }
  }
  EXPECT_EQ(log.messages(), std::vector<std::string>()) << "a pattern gave up";
}

VocabularySpec runs_spec(std::string_view pre) {
  VocabularySpec spec =
      byte_level_spec({"a a", "aa aa", "\xC4\xA0 \xC4\xA0", "\xC4\xA0\xC4\xA0 \xC4\xA0\xC4\xA0"});
  spec.pre = pre;
  return spec;
}

// A quadratic step would take hours here, and a pattern that backtracks says in the log that it gave up.
TEST(Tokenizer, OneMegabyteOfOneCharacterTakesNoMoreThanLinearWork) {
  for (const char* pre : {"gpt-2", "llama-bpe"}) expect_linear_work(runs_spec(pre), 1 << 20, {""});
  expect_linear_work(
      sentence_piece_spec({"\xE2\x96\x81", "\xE2\x96\x81\xE2\x96\x81", "a", "aa", "aaaa", "7", "77"}),
      1 << 20, {""});
}

// Something at the end keeps the run from being the whole text, which is where patterns look back and forth.
TEST(Tokenizer, RunsBeforeOtherTextTakeNoMoreThanLinearWork) {
  std::vector<const std::string_view*> seen;
  for (const PreTokenizerInfo& info : all_pre_tokenizers()) {
    if (std::ranges::find(seen, info.patterns.data()) != seen.end()) continue;
    seen.push_back(info.patterns.data());
    expect_linear_work(runs_spec(info.name), 1 << 16, {"x", "1", "\n"});
  }
}

}  // namespace
}  // namespace oxbow::text::testing
