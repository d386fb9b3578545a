// Every refusal of docs/formats/gguf.md that concerns one file: the kind of error, and what its message
// names.

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "gguf/file.h"
#include "gguf/limits.h"
#include "raw_file.h"

namespace oxbow::gguf {
namespace {

using testing::RawFile;

constexpr uint32_t kF32 = 0;
constexpr uint32_t kQ8_0 = 8;
constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

void expect_refused(const RawFile& raw, std::initializer_list<std::string_view> parts,
                    ErrorKind kind = ErrorKind::kInvalidInput) {
  const auto file = raw.parse();
  ASSERT_FALSE(file) << "expected an error with " << *parts.begin();
  EXPECT_EQ(file.error().kind, kind) << file.error().message;
  EXPECT_EQ(file.error().message.find("raw.gguf: "), 0U) << file.error().message;
  for (const auto part : parts) {
    EXPECT_NE(file.error().message.find(part), std::string::npos)
        << file.error().message << "\nlacks: " << part;
  }
}

TEST(Refusals, OtherFilesAreNamedForWhatTheyAre) {
  expect_refused(RawFile(), {"at byte 0", "magic number", "ends after 0"});
  expect_refused(RawFile().raw("GGU"), {"ends after 3"});
  expect_refused(RawFile().raw("PK\x03\x04 and more"), {"not a GGUF file", "\"PK\\x03\\x04\""});
  expect_refused(RawFile().raw("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
                 {"Git LFS pointer"});
}

TEST(Refusals, VersionsOtherThanTwoAndThreeAreUnsupportedByName) {
  expect_refused(RawFile::with(0, 0, 1), {"version 1"}, ErrorKind::kUnsupported);
  expect_refused(RawFile::with(0, 0, 0), {"version 0", "2 and 3"}, ErrorKind::kUnsupported);
  expect_refused(RawFile::with(0, 0, 4), {"version 4", "2 and 3"}, ErrorKind::kUnsupported);
  expect_refused(RawFile::with(0, 0, 0x03000000), {"big-endian", "version 3"}, ErrorKind::kUnsupported);
}

TEST(Refusals, EveryTruncationOfTheHeaderIsAnError) {
  RawFile whole = RawFile::with(1, 3);
  whole.key("a", ValueType::kUint32).number<uint32_t>(1);
  whole.array("b", ValueType::kString, 2).text("x").text("yy");
  whole.array("c", ValueType::kArray, 1).type(ValueType::kUint16).number<uint64_t>(2).number<uint32_t>(0);
  whole.tensor("t", {4}, kF32, 0).data(16);
  ASSERT_TRUE(whole.parse());
  for (size_t size = 0; size < whole.size(); ++size) {
    RawFile cut = whole;
    cut.bytes().resize(size);
    EXPECT_FALSE(cut.parse()) << size;
  }
}

TEST(Refusals, CountsThatTheFileCannotHoldAllocateNothing) {
  expect_refused(RawFile::with(kHuge, 0), {"at byte 24", "tensor count is 18446744073709551615"});
  expect_refused(RawFile::with(0, kHuge), {"at byte 24", "metadata count is 18446744073709551615"});
  expect_refused(RawFile::with(100, 0).zeros(99), {"tensor count is 100", "99 bytes follow"});
  expect_refused(RawFile::with(0, kMaxMetadata + 1).zeros(kMaxMetadata * 20), {"metadata count", "65536"});
  for (const ValueType type :
       {ValueType::kUint8, ValueType::kString, ValueType::kArray, ValueType::kFloat64}) {
    for (const uint64_t count : {uint64_t{17}, kHuge / 8 + 1, kHuge}) {
      expect_refused(RawFile::with(0, 1).array("list", type, count).zeros(16),
                     {"\"list\"", "claims", "16 bytes follow"});
    }
  }
}

TEST(Refusals, StringsPastTheEnd) {
  expect_refused(RawFile::with(0, 1).number(kHuge).zeros(20), {"metadata pair 0", "the key claims"});
  expect_refused(RawFile::with(0, 1).key("k", ValueType::kString).number<uint64_t>(3).raw("ab"),
                 {"\"k\"", "string claims 3 bytes", "only 2 follow"});
  expect_refused(
      RawFile::with(0, 1).array("k", ValueType::kString, 2).text("x").number<uint64_t>(9).raw("abcdefgh"),
      {"\"k\"", "string 1 of 2"});
  expect_refused(RawFile::with(1, 0).number(kHuge).zeros(40), {"tensor 0", "the name claims"});
}

TEST(Refusals, UnknownValueTypes) {
  expect_refused(RawFile::with(0, 1).text("k").number<uint32_t>(13).zeros(8), {"\"k\"", "value type is 13"});
  expect_refused(RawFile::with(0, 1).text("k").number<uint32_t>(9).number<uint32_t>(77).zeros(8),
                 {"\"k\"", "element type is 77"});
}

TEST(Refusals, BoolsThatAreNeitherZeroNorOne) {
  expect_refused(RawFile::with(0, 1).key("flag", ValueType::kBool).number<uint8_t>(2), {"\"flag\"", "not 2"});
  expect_refused(
      RawFile::with(0, 1).array("flags", ValueType::kBool, 2).number<uint8_t>(1).number<uint8_t>(255),
      {"\"flags\"", "element 1 is 255"});
}

TEST(Refusals, ArraysNestedTooDeepOrTooMany) {
  const auto nested = [](int depth) {
    RawFile raw = RawFile::with(0, 1);
    raw.array("deep", ValueType::kArray, 1);
    for (int i = 2; i < depth; ++i) raw.type(ValueType::kArray).number<uint64_t>(1);
    return raw.type(ValueType::kUint8).number<uint64_t>(0);
  };
  EXPECT_TRUE(nested(kMaxArrayDepth).parse());
  expect_refused(nested(kMaxArrayDepth + 1), {"\"deep\"", "nested more than 8 deep"});
  expect_refused(nested(100000), {"\"deep\"", "nested more than 8 deep"});
  expect_refused(RawFile::with(0, 1)
                     .array("many", ValueType::kArray, kMaxNestedArrays + 1)
                     .zeros((kMaxNestedArrays + 1) * 12),
                 {"\"many\"", "more than 1048576 arrays"});
}

TEST(Refusals, KeysThatAreEmptyTwiceTooLongOrNoUtf8) {
  expect_refused(RawFile::with(0, 1).key("", ValueType::kUint8).zeros(8), {"the key \"\" is empty"});
  RawFile twice = RawFile::with(0, 2);
  twice.key("same", ValueType::kUint8).number<uint8_t>(0).key("same", ValueType::kBool).number<uint8_t>(0);
  expect_refused(twice, {"\"same\"", "occurs twice"});
  const std::string longest(kMaxNameBytes, 'k');
  EXPECT_TRUE(RawFile::with(0, 1).key(longest, ValueType::kUint8).number<uint8_t>(0).parse());
  expect_refused(RawFile::with(0, 1).key(longest + "k", ValueType::kUint8).number<uint8_t>(0),
                 {"has 65536 bytes, more than 65535"});
  for (const std::string_view wrong :
       {"\x80", "a\xff", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x8f\xbf\xbf",
        "cut \xe2\x82", "\xf5\x80\x80\x80"}) {
    expect_refused(RawFile::with(0, 1).key(wrong, ValueType::kUint8).zeros(8), {"is not valid UTF-8"});
  }
  for (const std::string_view right :
       {"é", "€", "\xf0\x9f\x90\x82", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf", "\xee\x80\x80"}) {
    EXPECT_TRUE(RawFile::with(0, 1).key(right, ValueType::kUint8).number<uint8_t>(0).parse()) << right;
  }
}

TEST(Refusals, NamesInMessagesAreShortAndPrintable) {
  const auto file =
      RawFile::with(0, 1).key("evil\x1b[2J\n" + std::string(5000, 'x'), ValueType::kBool).number('x').parse();
  ASSERT_FALSE(file);
  EXPECT_LT(file.error().message.size(), 300U);
  EXPECT_NE(file.error().message.find("\"evil\\x1b[2J\\x0a"), std::string::npos) << file.error().message;
}

RawFile one_tensor(const std::vector<uint64_t>& shape, uint32_t type, uint64_t offset = 0,
                   size_t data = 4096) {
  return RawFile::with(1, 0).tensor("blk.0.weight", shape, type, offset).data(data);
}

TEST(Refusals, ShapesOutOfTheRules) {
  expect_refused(one_tensor({}, kF32), {"\"blk.0.weight\"", "0 dimensions"});
  expect_refused(one_tensor({1, 1, 1, 1, 1}, kF32), {"\"blk.0.weight\"", "5 dimensions"});
  expect_refused(one_tensor({4, 0}, kF32), {"\"blk.0.weight\"", "dimension is zero"});
  expect_refused(one_tensor({uint64_t{1} << 32, uint64_t{1} << 32}, kF32),
                 {"\"blk.0.weight\"", "does not fit 64 bits"});
  expect_refused(one_tensor({kHuge}, kF32), {"\"blk.0.weight\"", "does not fit 64 bits"});
  expect_refused(one_tensor({uint64_t{1} << 62}, kF32), {"\"blk.0.weight\"", "does not fit 64 bits"});
}

TEST(Refusals, PartialBlocksInARow) {
  expect_refused(one_tensor({33}, kQ8_0), {"\"blk.0.weight\"", "rows of 33 values", "Q8_0"});
  expect_refused(one_tensor({16, 2}, kQ8_0), {"\"blk.0.weight\"", "rows of 16 values", "Q8_0"});
}

TEST(Refusals, TensorTypesThatAreNotDecodedAreNamed) {
  expect_refused(one_tensor({256}, 21), {"\"blk.0.weight\"", "type 21 (IQ3_S)"}, ErrorKind::kUnsupported);
  expect_refused(one_tensor({256}, 26), {"\"blk.0.weight\"", "type 26 (I32)"}, ErrorKind::kUnsupported);
  expect_refused(one_tensor({256}, 4711), {"\"blk.0.weight\"", "type 4711 is unknown"},
                 ErrorKind::kUnsupported);
}

TEST(Refusals, DataOutsideOfTheFileOrMisaligned) {
  EXPECT_TRUE(one_tensor({8}, kF32, 32, 64).parse());
  expect_refused(one_tensor({8}, kF32, 32, 63), {"\"blk.0.weight\"", "past the end", "offset 32"});
  expect_refused(one_tensor({8}, kF32, 64, 64), {"\"blk.0.weight\"", "past the end"});
  expect_refused(one_tensor({8}, kF32, 33), {"\"blk.0.weight\"", "offset 33", "alignment 32"});
  expect_refused(one_tensor({8}, kF32, kHuge - 31), {"\"blk.0.weight\"", "past the end"});
  expect_refused(RawFile::with(1, 0).tensor("a", {1}, kF32, 0), {"\"a\"", "past the end"});
}

TEST(Refusals, OverlappingData) {
  RawFile raw = RawFile::with(3, 0);
  raw.tensor("a", {16}, kF32, 0).tensor("b", {8}, kF32, 64).tensor("c", {8}, kF32, 32).data(256);
  expect_refused(raw, {"\"a\" and \"c\" overlap", "offset 32"});
  RawFile same = RawFile::with(2, 0);
  same.tensor("a", {8}, kF32, 32).tensor("b", {8}, kF32, 32).data(256);
  expect_refused(same, {"overlap", "offset 32"});
}

TEST(Refusals, TensorNamesThatAreEmptyTwiceOrNoUtf8) {
  expect_refused(RawFile::with(1, 0).tensor("", {1, 1}, kF32, 0).data(4), {"the name \"\" is empty"});
  expect_refused(RawFile::with(1, 0).tensor("\xff", {1, 1}, kF32, 0).data(4), {"not valid UTF-8"});
  expect_refused(RawFile::with(2, 0).tensor("t", {1}, kF32, 0).tensor("t", {1}, kF32, 32).data(64),
                 {"\"t\" occurs twice"});
}

TEST(Refusals, AlignmentThatIsNoPowerOfTwoOrOutOfRange) {
  const auto with_alignment = [](uint32_t alignment) {
    return RawFile::with(0, 1).key("general.alignment", ValueType::kUint32).number(alignment);
  };
  for (const uint32_t alignment : {8U, 16U, 4096U, kMaxAlignment})
    EXPECT_TRUE(with_alignment(alignment).parse());
  for (const uint32_t alignment : {0U, 1U, 4U, 24U, 33U, kMaxAlignment * 2, 0xffffffffU}) {
    expect_refused(with_alignment(alignment), {"\"general.alignment\"", std::to_string(alignment)});
  }
  expect_refused(RawFile::with(0, 1).key("general.alignment", ValueType::kString).text("32"),
                 {"\"general.alignment\"", "string", "uint32"});
  expect_refused(RawFile::with(0, 1).key("general.alignment", ValueType::kUint64).number<uint64_t>(32),
                 {"\"general.alignment\"", "uint64", "uint32"});
}

TEST(Refusals, PartsOfASplitModelCannotBeParsedFromMemory) {
  RawFile raw = RawFile::with(0, 1);
  raw.key("split.count", ValueType::kUint16).number<uint16_t>(2);
  expect_refused(raw, {"one of 2 parts"});
}

}  // namespace
}  // namespace oxbow::gguf
