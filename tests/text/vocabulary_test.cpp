#include "text/vocabulary.h"

#include <cmath>

#include "text/vocabulary_support.h"

namespace oxbow::text::testing {
namespace {

// The message must hold every part, so that a user can find the place.
void expect_refused(const VocabularySpec& spec, ErrorKind kind, const std::vector<std::string>& parts) {
  const auto vocabulary = load_vocabulary(spec);
  ASSERT_FALSE(vocabulary);
  EXPECT_EQ(vocabulary.error().kind, kind);
  for (const std::string& part : parts) {
    EXPECT_NE(vocabulary.error().message.find(part), std::string::npos) << vocabulary.error().message;
  }
}

TEST(Vocabulary, GivesTextsKindsAndIds) {
  const auto vocabulary = load_vocabulary(byte_level_spec({"a b"}));
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  EXPECT_EQ(vocabulary->size(), 258u);
  EXPECT_EQ(vocabulary->token_text(257), "ab");
  EXPECT_EQ(vocabulary->find("ab"), 257);
  EXPECT_EQ(vocabulary->find("abc"), std::nullopt);
  EXPECT_EQ(vocabulary->find(""), std::nullopt);
  EXPECT_EQ(vocabulary->kind(256), TokenKind::kControl);
  EXPECT_EQ(vocabulary->find("<|end|>"), 256);
  EXPECT_EQ(vocabulary->find_text_token("<|end|>"), std::nullopt);
  EXPECT_EQ(vocabulary->eos(), 256);
  EXPECT_EQ(vocabulary->bos(), std::nullopt);
  EXPECT_FALSE(vocabulary->add_bos());
}

TEST(Vocabulary, AnswersForeignIdsLikeAnEmptyUnusedToken) {
  const auto vocabulary = load_vocabulary(byte_level_spec({}));
  ASSERT_TRUE(vocabulary);
  for (const TokenId id :
       {-1, 257, std::numeric_limits<TokenId>::max(), std::numeric_limits<TokenId>::min()}) {
    EXPECT_FALSE(vocabulary->contains(id));
    EXPECT_EQ(vocabulary->token_text(id), "");
    EXPECT_EQ(vocabulary->kind(id), TokenKind::kUnused);
    EXPECT_EQ(vocabulary->score(id), 0.0f);
    EXPECT_FALSE(vocabulary->is_end_of_generation(id));
  }
}

TEST(Vocabulary, OutlivesTheFile) {
  auto bytes = write_vocabulary(byte_level_spec({"a b"}));
  std::optional<gguf::File> file(std::move(*gguf::File::parse(bytes, "test.gguf")));
  const auto vocabulary = Vocabulary::from_gguf(*file);
  ASSERT_TRUE(vocabulary);
  file.reset();
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  EXPECT_EQ(vocabulary->token_text(257), "ab");
}

TEST(Vocabulary, HasTheUsualDefaultsOfSentencePiece) {
  const auto vocabulary = load_vocabulary(sentence_piece_spec({"a"}));
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  EXPECT_EQ(vocabulary->unknown(), 0);
  EXPECT_EQ(vocabulary->bos(), 1);
  EXPECT_EQ(vocabulary->eos(), 2);
  EXPECT_TRUE(vocabulary->add_bos());
  EXPECT_FALSE(vocabulary->add_eos());
  EXPECT_TRUE(vocabulary->add_space_prefix());
}

TEST(Vocabulary, TakesTheBeginTokenFromThePreTokenizerUnlessTheFileSaysSo) {
  VocabularySpec spec = byte_level_spec({});
  spec.pre = "llama-bpe";
  spec.extra = [](gguf::Writer& writer) { writer.add_uint32("tokenizer.ggml.bos_token_id", 256); };
  EXPECT_TRUE(load_vocabulary(spec)->add_bos());
  spec.extra = [](gguf::Writer& writer) {
    writer.add_uint32("tokenizer.ggml.bos_token_id", 256);
    writer.add_bool("tokenizer.ggml.add_bos_token", false);
  };
  EXPECT_FALSE(load_vocabulary(spec)->add_bos());
  spec.extra = {};  // no such token
  EXPECT_FALSE(load_vocabulary(spec)->add_bos());
}

TEST(Vocabulary, SaysWhatReplacesAnUnknownOrMissingPreTokenizer) {
  for (const std::string pre : {"of-the-future", ""}) {
    VocabularySpec spec = byte_level_spec({});
    spec.pre = pre;
    LogCapture log;
    const auto vocabulary = load_vocabulary(spec);
    ASSERT_TRUE(vocabulary) << vocabulary.error().message;
    EXPECT_EQ(vocabulary->pre_tokenizer().name, "default");
    ASSERT_EQ(log.messages().size(), 1u);
    EXPECT_NE(log.messages()[0].find("\"default\""), std::string::npos) << log.messages()[0];
    EXPECT_NE(log.messages()[0].find(pre), std::string::npos) << log.messages()[0];
  }
}

TEST(Vocabulary, KnowsTheUsualTextsThatEndAnAnswer) {
  VocabularySpec spec = byte_level_spec({});
  for (const char* text : {"<|im_end|>", "</s>", "<|other|>", "<|eot_id|>"}) {
    spec.tokens.emplace_back(text);
    spec.kinds.push_back(3);
  }
  spec.kinds[258] = 1;  // "</s>" as plain text, as in a vocabulary that learnt HTML
  spec.kinds[260] = 1;  // no one writes "<|eot_id|>" by chance
  const auto vocabulary = load_vocabulary(spec);
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  EXPECT_TRUE(vocabulary->is_end_of_generation(256));
  EXPECT_TRUE(vocabulary->is_end_of_generation(257));
  EXPECT_FALSE(vocabulary->is_end_of_generation(258));
  EXPECT_FALSE(vocabulary->is_end_of_generation(259));
  EXPECT_TRUE(vocabulary->is_end_of_generation(260));
  EXPECT_EQ(vocabulary->kind(260), TokenKind::kControl);
  EXPECT_EQ(vocabulary->eot(), 257);
}

TEST(Vocabulary, DropsSpecialIdsOutsideTheVocabularyWithAWarning) {
  VocabularySpec spec = byte_level_spec({});
  spec.extra = [](gguf::Writer& writer) {
    writer.add_uint32("tokenizer.ggml.bos_token_id", 257);
    writer.add_int32("tokenizer.ggml.eos_token_id", -7);
    writer.add_uint32("tokenizer.ggml.padding_token_id", 0xFFFFFFFF);
    writer.add_int32("tokenizer.ggml.unknown_token_id", -1);
  };
  LogCapture log;
  const auto vocabulary = load_vocabulary(spec);
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  EXPECT_EQ(vocabulary->bos(), std::nullopt);
  EXPECT_EQ(vocabulary->eos(), std::nullopt);
  EXPECT_EQ(vocabulary->padding(), std::nullopt);
  EXPECT_EQ(vocabulary->unknown(), std::nullopt);
  EXPECT_EQ(log.messages().size(), 2u) << "-1 is a way to say none";
}

TEST(Vocabulary, RefusesOtherModelsByName) {
  for (const std::string model : {"bert", "t5", "rwkv", "plamo2", ""}) {
    VocabularySpec spec = byte_level_spec({});
    spec.model = model;
    expect_refused(spec, ErrorKind::kUnsupported, {"tokenizer.ggml.model", "\"" + model + "\""});
  }
}

TEST(Vocabulary, RefusesMissingKeys) {
  const std::vector<std::byte> bytes = *gguf::Writer().bytes();
  const auto empty = Vocabulary::from_gguf(*gguf::File::parse(bytes, "empty.gguf"));
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message.find("tokenizer.ggml.model"), std::string::npos);

  gguf::Writer writer;
  writer.add_string("tokenizer.ggml.model", "gpt2");
  const std::vector<std::byte> no_tokens = *writer.bytes();
  const auto vocabulary = Vocabulary::from_gguf(*gguf::File::parse(no_tokens, "empty.gguf"));
  ASSERT_FALSE(vocabulary);
  EXPECT_NE(vocabulary.error().message.find("tokenizer.ggml.tokens"), std::string::npos);

  VocabularySpec spec = sentence_piece_spec({"a"});
  spec.scores.clear();
  expect_refused(spec, ErrorKind::kInvalidInput, {"tokenizer.ggml.scores"});
}

TEST(Vocabulary, RefusesKeysOfAnotherType) {
  VocabularySpec spec = byte_level_spec({});
  spec.extra = [](gguf::Writer& writer) { writer.add_string("tokenizer.ggml.bos_token_id", "one"); };
  expect_refused(spec, ErrorKind::kInvalidInput, {"tokenizer.ggml.bos_token_id"});
  spec.extra = [](gguf::Writer& writer) { writer.add_uint32("tokenizer.ggml.add_bos_token", 1); };
  expect_refused(spec, ErrorKind::kInvalidInput, {"tokenizer.ggml.add_bos_token"});
}

TEST(Vocabulary, RefusesDuplicateTokens) {
  VocabularySpec spec = byte_level_spec({});
  spec.tokens.push_back(spec.tokens['q']);
  spec.kinds.push_back(1);
  expect_refused(spec, ErrorKind::kInvalidInput, {"tokenizer.ggml.tokens[257]", "113", "\"q\""});
}

TEST(Vocabulary, AcceptsAnyNumberOfEmptyTokens) {
  VocabularySpec spec = byte_level_spec({});
  spec.tokens.resize(spec.tokens.size() + 3);
  spec.kinds.resize(spec.tokens.size(), 3);
  const auto vocabulary = load_vocabulary(spec);
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  EXPECT_EQ(vocabulary->token_text(258), "");
}

TEST(Vocabulary, RefusesArraysOfAnotherLengthThanTheTokens) {
  VocabularySpec spec = byte_level_spec({});
  spec.kinds.push_back(1);
  expect_refused(spec, ErrorKind::kInvalidInput, {"tokenizer.ggml.token_type", "258", "257"});
  spec = sentence_piece_spec({"a"});
  spec.scores.pop_back();
  expect_refused(spec, ErrorKind::kInvalidInput, {"tokenizer.ggml.scores", "259", "260"});
}

TEST(Vocabulary, RefusesUnknownKinds) {
  for (const int32_t kind : {7, -1, 1 << 30}) {
    VocabularySpec spec = byte_level_spec({});
    spec.kinds[3] = kind;
    expect_refused(spec, ErrorKind::kInvalidInput, {"tokenizer.ggml.token_type[3]", std::to_string(kind)});
  }
}

TEST(Vocabulary, RefusesScoresThatAreNoNumbers) {
  VocabularySpec spec = sentence_piece_spec({"a"});
  spec.scores[5] = std::nanf("");
  expect_refused(spec, ErrorKind::kInvalidInput, {"tokenizer.ggml.scores[5]"});
}

TEST(Vocabulary, RefusesMergesWithoutTwoTexts) {
  for (const std::string merge : {"", " ", "ab", "a ", " b"}) {
    VocabularySpec spec = byte_level_spec({});
    spec.merges = {"a b", merge};
    expect_refused(spec, ErrorKind::kInvalidInput, {"tokenizer.ggml.merges[1]"});
  }
}

TEST(Vocabulary, RefusesAddBosWithoutABeginToken) {
  VocabularySpec spec = byte_level_spec({});
  spec.extra = [](gguf::Writer& writer) { writer.add_bool("tokenizer.ggml.add_bos_token", true); };
  expect_refused(spec, ErrorKind::kInvalidInput, {"add_bos_token", "bos_token_id"});
  spec.extra = [](gguf::Writer& writer) { writer.add_bool("tokenizer.ggml.add_eos_token", true); };
  expect_refused(spec, ErrorKind::kInvalidInput, {"add_eos_token", "eos_token_id"});
}

TEST(Vocabulary, RealVocabulariesWithoutVectorsLoad) {
  OXBOW_NEEDS_SHARED();
  for (const std::string name : {"baichuan", "gpt-neox"}) {
    const auto tokenizer = shared_tokenizer("tokenizers/ggml-vocab-" + name + ".gguf");
    ASSERT_NE(tokenizer, nullptr);
    const std::string text = "Hello world, na\xC3\xAFve   \n\n tabs\t\xF0\x9F\xA6\x99 1234";
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, {})), text) << name;
  }
  const auto bert = open_shared("tokenizers/ggml-vocab-bert-bge.gguf");
  ASSERT_TRUE(bert);
  const auto refused = Vocabulary::from_gguf(*bert);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace oxbow::text::testing
