#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/atomic_file.h"
#include "base/mapped_file.h"

namespace oxbow {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / fmt::format("oxbow-files-{}", ::getpid());
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }
  std::string path(const char* name) const { return (directory_ / name).string(); }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(directory_), {}));
  }

  fs::path directory_;
};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST_F(Files, CommittedFileIsReadBackWhole) {
  auto file = AtomicFile::create(path("a"));
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(bytes_of("hello ")));
  ASSERT_TRUE(file->write(bytes_of("world")));
  ASSERT_TRUE(file->commit());
  auto mapped = MappedFile::open(path("a"));
  ASSERT_TRUE(mapped) << mapped.error().message;
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size()),
            "hello world");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, UncommittedFileLeavesTheOldOneAndNothingElse) {
  std::ofstream(path("a")) << "old";
  {
    auto file = AtomicFile::create(path("a"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(bytes_of("new")));
  }
  EXPECT_EQ(entries(), 1U);
  auto mapped = MappedFile::open(path("a"));
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->bytes().size(), 3U);
}

TEST_F(Files, ErrorsNameThePathAndTheReason) {
  auto missing = MappedFile::open(path("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(missing.error().message.find("none: No such file"), std::string::npos) << missing.error().message;
  auto folder = MappedFile::open(directory_.string());
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("not a regular file"), std::string::npos);
  auto unwritable = AtomicFile::create(path("no/such/folder"));
  ASSERT_FALSE(unwritable);
  EXPECT_NE(unwritable.error().message.find("No such file"), std::string::npos);
}

TEST_F(Files, EmptyFileMapsToNoBytes) {
  std::ofstream(path("empty"));
  auto mapped = MappedFile::open(path("empty"));
  ASSERT_TRUE(mapped);
  EXPECT_TRUE(mapped->bytes().empty());
}

}  // namespace
}  // namespace oxbow
