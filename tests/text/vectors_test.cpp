// The token ids that the reference gives, for real vocabularies and for every pre-tokenizer.

#include <filesystem>

#include "text/vocabulary_support.h"

namespace oxbow::text::testing {
namespace {

void expect_vectors(const Tokenizer& tokenizer, const std::vector<Vector>& vectors, const std::string& name) {
  for (size_t i = 0; i < vectors.size(); ++i) {
    EXPECT_EQ(tokenizer.encode(vectors[i].text, kPlain), vectors[i].tokens)
        << name << ", test " << i << ": \"" << vectors[i].text << "\"";
  }
}

class VocabularyVectors : public ::testing::TestWithParam<const char*> {};

TEST_P(VocabularyVectors, AreEncodedAsTheReferenceDoesAndDecodedToTheSameText) {
  OXBOW_NEEDS_SHARED();
  const std::string path = std::string("tokenizers/ggml-vocab-") + GetParam() + ".gguf";
  const auto tokenizer = shared_tokenizer(path);
  ASSERT_NE(tokenizer, nullptr);
  const auto vectors = read_vectors(path + ".inp", path + ".out");
  ASSERT_EQ(vectors.size(), 46u);
  expect_vectors(*tokenizer, vectors, GetParam());
  for (const Vector& vector : vectors) EXPECT_EQ(tokenizer->decode(vector.tokens), vector.text) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(All, VocabularyVectors,
                         ::testing::Values("gpt-2", "llama-spm", "phi-3", "mpt", "falcon", "refact",
                                           "starcoder", "deepseek-coder", "deepseek-llm"));

TEST(GoldenVocabulary, IsEncodedAsTheReferenceDoes) {
  OXBOW_NEEDS_SHARED();
  const auto tokenizer = shared_tokenizer("golden/llama-tiny.gguf");
  ASSERT_NE(tokenizer, nullptr);
  const auto vectors = read_vectors("golden/tiny-tokenizer.inp", "golden/tiny-tokenizer.out");
  ASSERT_GT(vectors.size(), 40u);
  expect_vectors(*tokenizer, vectors, "golden");
}

// A vocabulary of all byte pairs, so that a piece border between two bytes changes the ids.
TEST(PreTokenizerVectors, OfEveryNameAreSplitAsTheReferenceDoes) {
  OXBOW_NEEDS_SHARED();
  const auto file = open_shared("tokenizers/pairs-vocab.gguf");
  ASSERT_TRUE(file) << file.error().message;
  size_t names = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(oxbow::testing::shared_directory() + "/tokenizers/pre")) {
    const std::string name = entry.path().stem();
    gguf::Writer writer;
    for (const auto& [key, value] : file->metadata()) writer.add_value(key, value);
    writer.set_string("tokenizer.ggml.pre", name);
    const auto bytes = writer.bytes();
    ASSERT_TRUE(bytes) << bytes.error().message;
    const auto renamed = gguf::File::parse(*bytes, name);
    ASSERT_TRUE(renamed) << renamed.error().message;
    const auto tokenizer = tokenizer_of(*renamed);
    ASSERT_NE(tokenizer, nullptr);
    EXPECT_EQ(tokenizer->vocabulary().pre_tokenizer().name, name);
    const auto vectors = read_vectors("tokenizers/pre.inp", "tokenizers/pre/" + name + ".out");
    ASSERT_EQ(vectors.size(), 70u);
    expect_vectors(*tokenizer, vectors, name);
    ++names;
  }
  EXPECT_EQ(names, 35u);
}

}  // namespace
}  // namespace oxbow::text::testing
