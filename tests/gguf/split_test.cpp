// Models of several files.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "gguf/file.h"
#include "raw_file.h"

namespace oxbow::gguf {
namespace {

namespace fs = std::filesystem;
using testing::RawFile;

struct Part {
  std::optional<uint16_t> number;
  std::optional<uint16_t> count;
  std::optional<int32_t> tensors;
  std::vector<std::string> names;  // one float each, its value the name's length
};

class SplitModel : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / fmt::format("oxbow-gguf-split-{}", ::getpid());
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }
  std::string path(std::string_view name) const { return (directory_ / name).string(); }

  void write(std::string_view name, const Part& part) const {
    const uint64_t keys = 1U + (part.number ? 1U : 0U) + (part.count ? 1U : 0U) + (part.tensors ? 1U : 0U);
    RawFile raw = RawFile::with(part.names.size(), keys);
    raw.key("general.name", ValueType::kString).text(name);
    if (part.number) raw.key("split.no", ValueType::kUint16).number(*part.number);
    if (part.count) raw.key("split.count", ValueType::kUint16).number(*part.count);
    if (part.tensors) raw.key("split.tensors.count", ValueType::kInt32).number(*part.tensors);
    for (size_t i = 0; i < part.names.size(); ++i) raw.tensor(part.names[i], {1}, 0, i * 32);
    raw.data(0);
    for (const auto& tensor : part.names) raw.number(static_cast<float>(tensor.size())).zeros(28);
    std::ofstream(path(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(raw.bytes().data()), static_cast<std::streamsize>(raw.size()));
  }

  void write_three() const {
    write("m-00001-of-00003.gguf", {0, 3, 4, {"a", "bb"}});
    write("m-00002-of-00003.gguf", {1, 3, 4, {"ccc"}});
    write("m-00003-of-00003.gguf", {2, 3, 4, {"a name that is longer than any short string"}});
  }

  void expect_error(std::string_view name, ErrorKind kind,
                    std::initializer_list<std::string_view> parts) const {
    const auto file = File::open(path(name));
    ASSERT_FALSE(file) << "expected an error with " << *parts.begin();
    EXPECT_EQ(file.error().kind, kind) << file.error().message;
    for (const auto part : parts) {
      EXPECT_NE(file.error().message.find(part), std::string::npos)
          << file.error().message << "\nlacks: " << part;
    }
  }

  fs::path directory_;
};

TEST_F(SplitModel, OpensWholeFromAnyOfItsParts) {
  write_three();
  for (const char* name : {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"}) {
    const auto file = File::open(path(name));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->path(), path("m-00001-of-00003.gguf"));
    EXPECT_EQ(*file->find_string("general.name"), "m-00001-of-00003.gguf");
    ASSERT_EQ(file->tensors().size(), 4U);
    const uint32_t expected_split[] = {0, 0, 1, 2};
    uint64_t size_bytes = 0;
    for (const auto& item : fs::directory_iterator(directory_)) size_bytes += item.file_size();
    EXPECT_EQ(file->size_bytes(), size_bytes);
    for (size_t i = 0; i < 4; ++i) {
      const Tensor& tensor = file->tensors()[i];
      EXPECT_EQ(tensor.split, expected_split[i]);
      EXPECT_EQ(file->find_tensor(tensor.name), &tensor);
      for (int round = 0; round < 2; ++round) {
        float value = 0;
        std::memcpy(&value, tensor.data.data(), sizeof(value));
        EXPECT_EQ(value, static_cast<float>(tensor.name.size()));
        file->release(tensor);
      }
    }
  }
}

TEST_F(SplitModel, AFirstPartWithoutTensorsIsFine) {
  write("m-00001-of-00002.gguf", {0, 2, 1, {}});
  write("m-00002-of-00002.gguf", {1, 2, 1, {"t"}});
  const auto file = File::open(path("m-00002-of-00002.gguf"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->find_tensor("t")->split, 1U);
}

TEST_F(SplitModel, OneOfOneOrNoKeysAtAllIsAnOrdinaryFile) {
  write("one.gguf", {0, 1, 1, {"t"}});
  EXPECT_TRUE(File::open(path("one.gguf")));
  write("m-00001-of-00002.gguf", {{}, {}, {}, {"t"}});
  EXPECT_TRUE(File::open(path("m-00001-of-00002.gguf")));
}

TEST_F(SplitModel, AMissingPartIsNamed) {
  write_three();
  fs::remove(path("m-00002-of-00003.gguf"));
  expect_error("m-00003-of-00003.gguf", ErrorKind::kNotFound,
               {"part 2 of 3", "m-00002-of-00003.gguf: No such file"});
}

TEST_F(SplitModel, ADamagedPartIsNamed) {
  write_three();
  fs::resize_file(path("m-00003-of-00003.gguf"), 100);
  expect_error("m-00001-of-00003.gguf", ErrorKind::kInvalidInput,
               {"part 3 of 3", "m-00003-of-00003.gguf: at byte"});
}

TEST_F(SplitModel, ARenamedPartCannotFindTheOthers) {
  write("model.gguf", {0, 3, 4, {"a"}});
  expect_error("model.gguf", ErrorKind::kInvalidInput, {"part 1 of 3", "-00001-of-00003.gguf"});
  write("m-00002-of-00003.gguf", {0, 3, 4, {"a"}});
  expect_error("m-00002-of-00003.gguf", ErrorKind::kInvalidInput, {"part 1 of 3", "-00001-of-00003.gguf"});
  write("m-00001-of-00004.gguf", {0, 3, 4, {"a"}});
  expect_error("m-00001-of-00004.gguf", ErrorKind::kInvalidInput, {"part 1 of 3", "-00001-of-00003.gguf"});
}

TEST_F(SplitModel, PartsWithOtherNumbersOrCountsAreNotMixed) {
  write_three();
  write("m-00002-of-00003.gguf", {2, 3, 4, {"ccc"}});
  expect_error("m-00001-of-00003.gguf", ErrorKind::kInvalidInput,
               {"m-00002-of-00003.gguf", "split.no is 2, expected 1"});
  write("m-00002-of-00003.gguf", {1, 4, 4, {"ccc"}});
  expect_error("m-00001-of-00003.gguf", ErrorKind::kInvalidInput,
               {"m-00002-of-00003.gguf", "split.count is 4, expected 3"});
  write("m-00002-of-00003.gguf", {{}, {}, {}, {"ccc"}});
  expect_error("m-00001-of-00003.gguf", ErrorKind::kInvalidInput,
               {"m-00002-of-00003.gguf", "split.no is absent"});
}

TEST_F(SplitModel, NumbersThatMakeNoSenseAreRefused) {
  write("m-00001-of-00003.gguf", {3, 3, 4, {"a"}});
  expect_error("m-00001-of-00003.gguf", ErrorKind::kInvalidInput, {"split.count is 3", "split.no is 3"});
  write("m-00001-of-00003.gguf", {{}, 3, 4, {"a"}});
  expect_error("m-00001-of-00003.gguf", ErrorKind::kInvalidInput, {"split.no is absent"});
}

TEST_F(SplitModel, TheTensorCountMustBeThatOfAllParts) {
  write_three();
  write("m-00001-of-00003.gguf", {0, 3, 5, {"a", "bb"}});
  expect_error("m-00002-of-00003.gguf", ErrorKind::kInvalidInput,
               {"split.tensors.count is 5", "hold 4 tensors"});
}

TEST_F(SplitModel, ATensorInTwoPartsIsRefused) {
  write_three();
  write("m-00002-of-00003.gguf", {1, 3, 4, {"bb"}});
  expect_error("m-00001-of-00003.gguf", ErrorKind::kInvalidInput, {"\"bb\" occurs twice"});
}

}  // namespace
}  // namespace oxbow::gguf
