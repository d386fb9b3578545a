#include "cli/npy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/binary.h"

namespace oxbow::cli {
namespace {

TEST(Npy, TheHeaderIsNumPysOwn) {
  const std::string header = npy_header(3, 512);
  EXPECT_EQ(header.size() % 64, 0u);
  EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(static_cast<unsigned char>(header[8]) + 256 * static_cast<unsigned char>(header[9]),
            header.size() - 10);
  EXPECT_EQ(header.substr(10, 66), "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 512), }     ");
  EXPECT_EQ(header.back(), '\n');
}

TEST(Npy, TheHeaderIsAlignedForEveryShape) {
  for (size_t rows = 1; rows < 10'000'000'000; rows *= 10) {
    const std::string header = npy_header(rows, rows + 1);
    EXPECT_EQ(header.size() % 64, 0u);
    EXPECT_NE(header.find(fmt::format("({}, {})", rows, rows + 1)), std::string::npos);
  }
}

TEST(OutputFile, AppearsWholeAtCommitAndLeavesNothingOtherwise) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path("out");
  {
    auto file = OutputFile::create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(std::as_bytes(std::span("abc", 3))));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  auto file = OutputFile::create(path);
  ASSERT_TRUE(file && file->write(std::as_bytes(std::span("abc", 3))) && file->commit());
  EXPECT_EQ(testing::read_file(path), "abc");
}

TEST(OutputFile, ADeviceIsWrittenInPlaceAndAFolderIsRefused) {
  auto full = OutputFile::create("/dev/full");
  ASSERT_TRUE(full);
  const auto written = full->write(std::as_bytes(std::span("abc", 3)));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::kIo);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));

  const testing::TemporaryFolder folder;
  const auto refused = OutputFile::create(folder.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, folder.path() + " is a folder, expected a file to write");
}

}  // namespace
}  // namespace oxbow::cli
