// Files that others made: the golden models, the vocabularies of well-known tokenizers, the fuzzer's seeds.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "base/mapped_file.h"
#include "gguf/file.h"
#include "support/golden.h"
#include "support/shared.h"
#include "walk.h"

namespace oxbow::gguf {
namespace {

using oxbow::testing::Golden;
using oxbow::testing::golden_models;
using testing::copy_of;

TEST(GoldenFiles, ArePresent) {
  OXBOW_NEEDS_SHARED();
  EXPECT_GE(golden_models().size(), 25U);
}

TEST(GoldenFiles, HoldWhatTheirDescriptionSays) {
  OXBOW_NEEDS_SHARED();
  for (const auto& name : golden_models()) {
    const Golden golden(name);
    const auto file = File::open(golden.model_path());
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(*file->find_string("general.architecture"), golden.string("arch"));
    const auto vocabulary = file->find_string_array("tokenizer.ggml.tokens");
    ASSERT_TRUE(vocabulary);
    EXPECT_EQ((*vocabulary)->size(), golden.number("n_vocab"));
    uint64_t elements = 0;
    for (const Tensor& tensor : file->tensors()) elements += tensor.elements;
    EXPECT_EQ(elements, golden.number("n_params")) << name;
    EXPECT_NE(file->find_tensor("token_embd.weight"), nullptr) << name;
  }
}

TEST(GoldenFiles, AreRewrittenByteForByte) {
  OXBOW_NEEDS_SHARED();
  for (const auto& name : golden_models()) {
    const auto path = Golden(name).model_path();
    const auto file = File::open(path);
    ASSERT_TRUE(file) << file.error().message;
    const auto rewritten = copy_of(*file).bytes();
    ASSERT_TRUE(rewritten) << rewritten.error().message;
    const auto original = MappedFile::open(path);
    ASSERT_EQ(rewritten->size(), original->bytes().size()) << name;
    EXPECT_EQ(std::memcmp(rewritten->data(), original->bytes().data(), rewritten->size()), 0) << name;
  }
}

TEST(FuzzSeeds, AreSoundFiles) {
  size_t count = 0;
  for (const auto& item :
       std::filesystem::directory_iterator(oxbow::testing::source_path("fuzz/corpus/gguf"))) {
    ++count;
    const auto file = File::open(item.path().string());
    EXPECT_TRUE(file) << file.error().message;
  }
  EXPECT_GT(count, 0U);
}

TEST(Vocabularies, AreReadAndRewritten) {
  OXBOW_NEEDS_SHARED();
  size_t count = 0;
  for (const auto& item :
       std::filesystem::directory_iterator(oxbow::testing::shared_directory() + "/tokenizers")) {
    if (item.path().extension() != ".gguf") continue;
    ++count;
    const auto file = File::open(item.path().string());
    ASSERT_TRUE(file) << file.error().message;
    const auto tokens = file->find_string_array("tokenizer.ggml.tokens");
    ASSERT_TRUE(tokens) << tokens.error().message;
    EXPECT_GT((*tokens)->size(), 1000U) << item.path();
    const auto rewritten = copy_of(*file).bytes();
    ASSERT_TRUE(rewritten) << rewritten.error().message;
    const auto original = MappedFile::open(item.path().string());
    const auto bytes = original->bytes();
    // Without tensors, files may end unpadded.
    ASSERT_GE(rewritten->size(), bytes.size());
    ASSERT_LT(rewritten->size() - bytes.size(), 32U);
    EXPECT_EQ(std::memcmp(rewritten->data(), bytes.data(), bytes.size()), 0) << item.path();
  }
  EXPECT_GT(count, 10U);
}

}  // namespace
}  // namespace oxbow::gguf
