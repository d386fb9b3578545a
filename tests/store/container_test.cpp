#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "boxes.h"

namespace oxbow::stores {
namespace {

using testing::append_to;
using testing::Box;
using testing::Bytes;
using testing::bytes_of;
using testing::small_box;
using testing::text_of;

constexpr uint64_t kLimit = uint64_t{1} << 20;

std::string open_error(std::span<const std::byte> bytes) {
  const auto reader = ContainerReader::open(bytes, "box");
  if (reader) return "";
  EXPECT_EQ(reader.error().message.rfind("box: ", 0), 0U) << reader.error().message;
  return reader.error().message;
}

TEST(Container, SectionsComeBackAsTheyWereWritten) {
  const Bytes bytes = small_box();
  const auto reader = ContainerReader::open(bytes, "box");
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->kind(), ObjectKind::kSession);
  EXPECT_EQ(reader->fingerprint(), testing::fingerprint());
  ASSERT_EQ(reader->sections().size(), 4U);
  EXPECT_EQ(text_of(reader->read({1, 0}, kLimit)->bytes()), "the first section");
  EXPECT_EQ(text_of(reader->read({1, 1}, kLimit)->bytes()), std::string(64, 'x'));
  EXPECT_TRUE(reader->read({2, 0}, kLimit)->bytes().empty());
  EXPECT_EQ(text_of(reader->read({3, 0}, kLimit)->bytes()), std::string(5000, 'z'));
  EXPECT_LT(reader->find({3, 0})->stored_bytes, 200U);
  EXPECT_EQ(reader->find({4, 0}), nullptr);
  EXPECT_EQ(reader->read({4, 0}, kLimit).error().kind, ErrorKind::kNotFound);
}

TEST(Container, PlainSectionsAreReadInPlaceAndAligned) {
  const Bytes bytes = small_box();
  const auto reader = ContainerReader::open(bytes, "box");
  ASSERT_TRUE(reader);
  for (const Section& section : reader->sections()) EXPECT_EQ(section.offset % kSectionAlignment, 0U);
  const auto section = reader->read({1, 0}, kLimit);
  EXPECT_EQ(section->bytes().data(), bytes.data() + reader->find({1, 0})->offset);
}

TEST(Container, PiecesAndSpansGiveTheSameBytesAsOneWhole) {
  const std::string text(3000, 'q');
  for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
    Bytes whole;
    Bytes pieces;
    ContainerWriter first(append_to(whole), ObjectKind::kSegment, {});
    ASSERT_TRUE(first.add({9, 9}, bytes_of(text), compression));
    ASSERT_TRUE(first.finish());
    ContainerWriter second(append_to(pieces), ObjectKind::kSegment, {});
    const std::vector<std::span<const std::byte>> parts = {
        bytes_of(text).first(1), {}, bytes_of(text).subspan(1)};
    ASSERT_TRUE(second.add({9, 9}, parts, compression));
    ASSERT_TRUE(second.finish());
    EXPECT_EQ(whole, pieces);
  }
}

TEST(Container, WithoutSectionsIsTheSmallestOne) {
  Bytes bytes;
  ContainerWriter writer(append_to(bytes), ObjectKind::kCheckpoint, {});
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(bytes.size(), layout::kHeaderBytes + layout::kTrailerBytes);
  EXPECT_EQ(open_error(bytes), "");
}

TEST(Container, AnotherFingerprintOpensAllTheSame) {
  Bytes bytes;
  ContainerWriter writer(append_to(bytes), ObjectKind::kSession, testing::fingerprint(99));
  ASSERT_TRUE(writer.add({1, 0}, bytes_of("token ids")));
  ASSERT_TRUE(writer.finish());
  const auto reader = ContainerReader::open(bytes, "box");
  ASSERT_TRUE(reader);
  EXPECT_NE(reader->fingerprint(), testing::fingerprint());
  EXPECT_EQ(text_of(reader->read({1, 0}, kLimit)->bytes()), "token ids");
}

TEST(Container, TruncationAtEveryByteIsRefused) {
  const Bytes bytes = small_box();
  for (size_t size = 0; size < bytes.size(); ++size) {
    // A copy of its own, so that the address sanitizer sees a read behind the end.
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_NE(open_error(cut), "") << size;
  }
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_NE(open_error(longer), "");
}

TEST(Container, AFlipOfEveryBitIsRefused) {
  Bytes bytes = small_box();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      bytes[i] ^= static_cast<std::byte>(1U << bit);
      ASSERT_NE(open_error(bytes), "") << "bit " << bit << " of byte " << i;
      bytes[i] ^= static_cast<std::byte>(1U << bit);
    }
  }
  EXPECT_EQ(open_error(bytes), "");
}

TEST(Container, ADamagedSectionIsFoundOnReadWhenItWasNotVerifiedBefore) {
  Bytes bytes = small_box();
  const uint64_t offset = ContainerReader::open(bytes, "box")->find({1, 1})->offset;
  bytes[offset] ^= std::byte{1};
  const auto reader = ContainerReader::open(bytes, "box", ContainerReader::Verify::kOnRead);
  ASSERT_TRUE(reader);
  EXPECT_EQ(text_of(reader->read({1, 0}, kLimit)->bytes()), "the first section");
  const auto damaged = reader->read({1, 1}, kLimit);
  ASSERT_FALSE(damaged);
  EXPECT_NE(damaged.error().message.find("kind 1 index 1: the checksum"), std::string::npos)
      << damaged.error().message;
}

// What is wrong behind right checksums: a writer's bug, or somebody's intent.
struct Forgery {
  const char* name;
  void (*change)(Box& box);
  const char* reason;
};

class ForgedContainer : public ::testing::TestWithParam<Forgery> {};

TEST_P(ForgedContainer, IsRefusedWithTheReason) {
  Box box{small_box()};
  GetParam().change(box);
  box.seal();
  EXPECT_NE(open_error(box.bytes).find(GetParam().reason), std::string::npos) << open_error(box.bytes);
}

INSTANTIATE_TEST_SUITE_P(
    All, ForgedContainer,
    ::testing::Values(
        Forgery{"Version", [](Box& b) { store(b.bytes.data() + 8, uint32_t{2}); },
                "version 2, this build reads 1"},
        Forgery{"Magic", [](Box& b) { b.bytes[0] = std::byte{'x'}; }, "is no container"},
        Forgery{"HeaderPadding", [](Box& b) { b.bytes[40] = std::byte{1}; }, "the byte at 40 is not zero"},
        Forgery{"SectionPadding", [](Box& b) { b.bytes[64 + 17] = std::byte{1}; },
                "the byte at 81 is not zero"},
        Forgery{"TrailerPadding", [](Box& b) { store(b.trailer() + 4, 1); }, "zeros of the trailer"},
        Forgery{"TotalLength", [](Box& b) { store(b.trailer() + 16, uint64_t{1} << 60); },
                "its trailer states"},
        Forgery{"TooManySections", [](Box& b) { store(b.trailer(), ~uint32_t{0}); }, "more than 1048576"},
        Forgery{"SectionsOutsideTheFile", [](Box& b) { store(b.trailer(), uint32_t{1000000}); },
                "does not end at"},
        Forgery{"FewerSections", [](Box& b) { store(b.trailer(), uint32_t{3}); }, "does not end at"},
        Forgery{"ManifestOutsideTheFile", [](Box& b) { store(b.trailer() + 8, ~uint64_t{0}); },
                "does not end at"},
        Forgery{"Flags", [](Box& b) { store(b.entry(0) + 8, uint32_t{2}); }, "unknown flags 0x2"},
        Forgery{"EntryPadding", [](Box& b) { store(b.entry(0) + 12, uint32_t{1}); }, "unknown flags"},
        Forgery{"Overlap", [](Box& b) { store(b.entry(1) + 16, uint64_t{64}); },
                "64 bytes at 64, expected at 128"},
        Forgery{"OffsetBehindTheFile", [](Box& b) { store(b.entry(1) + 16, ~uint64_t{0}); },
                "expected at 128"},
        Forgery{"LengthBehindTheFile", [](Box& b) { store(b.entry(1) + 24, ~uint64_t{63}); },
                "before the manifest"},
        Forgery{"ShorterLastSection", [](Box& b) { store(b.entry(3) + 24, uint64_t{0}); },
                "the manifest is at"},
        Forgery{"RawLength", [](Box& b) { store(b.entry(0) + 32, uint64_t{18}); }, "without compression"},
        Forgery{"Duplicate", [](Box& b) { store(b.entry(1) + 4, uint32_t{0}); },
                "kind 1 index 0 exists twice"},
        Forgery{"Checksum", [](Box& b) { store(b.entry(1) + 40, uint64_t{0}); },
                "kind 1 index 1: the checksum"}),
    [](const auto& forgery) { return std::string(forgery.param.name); });

TEST(Container, ARawLengthThatTheDataDoesNotHaveIsRefusedWithinTheLimit) {
  for (const uint64_t claim : {uint64_t{0}, uint64_t{4999}, uint64_t{5001}, kLimit}) {
    Box box{small_box()};
    store(box.entry(3) + 32, claim);
    const auto reader = ContainerReader::open(box.seal().bytes, "box");
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_FALSE(reader->read({3, 0}, kLimit)) << claim;
  }
  Box box{small_box()};
  store(box.entry(3) + 32, uint64_t{1} << 62);
  const auto reader = ContainerReader::open(box.seal().bytes, "box");
  ASSERT_TRUE(reader);
  const auto huge = reader->read({3, 0}, kLimit);
  ASSERT_FALSE(huge);
  EXPECT_NE(huge.error().message.find("more than the expected 1048576"), std::string::npos)
      << huge.error().message;
}

TEST(Container, ReadsIntoAGivenPlaceOfTheRightLengthOnly) {
  const Bytes bytes = small_box();
  const auto reader = ContainerReader::open(bytes, "box");
  ASSERT_TRUE(reader);
  Bytes raw(5000);
  ASSERT_TRUE(reader->read_into({3, 0}, raw));
  EXPECT_EQ(text_of(raw), std::string(5000, 'z'));
  raw.resize(4999);
  EXPECT_FALSE(reader->read_into({3, 0}, raw));
  EXPECT_FALSE(reader->read_into({1, 0}, raw));
}

TEST(Container, TheWriterRefusesADuplicateAndPassesOnTheSinksError) {
  Bytes bytes;
  ContainerWriter writer(append_to(bytes), ObjectKind::kSession, {});
  ASSERT_TRUE(writer.add({1, 0}, bytes_of("a")));
  EXPECT_FALSE(writer.add({1, 0}, bytes_of("b")));

  size_t room = 100;
  const auto full = [&room](std::span<const std::byte> part) -> Status {
    if (part.size() > room) return fail(ErrorKind::kIo, "disk full");
    room -= part.size();
    return {};
  };
  ContainerWriter stuck(full, ObjectKind::kSession, {});
  const auto status = stuck.add({1, 0}, bytes_of(std::string(200, 'a')));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "disk full");
}

TEST(Container, AFileIsWrittenInOnePassAndReadMapped) {
  const std::string path = ::testing::TempDir() + "oxbow-container-test";
  auto file = AtomicFile::create(path);
  ASSERT_TRUE(file);
  ContainerWriter writer([&](std::span<const std::byte> part) { return file->write(part); },
                         ObjectKind::kSession, testing::fingerprint());
  ASSERT_TRUE(writer.add({1, 0}, bytes_of("on disk")));
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(file->commit());
  const auto mapped = MappedFile::open(path);
  ASSERT_TRUE(mapped);
  const auto reader = ContainerReader::open(mapped->bytes(), path);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(text_of(reader->read({1, 0}, kLimit)->bytes()), "on disk");
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace oxbow::stores
