#include "gguf/file.h"

#include <gtest/gtest.h>

#include <limits>

#include "raw_file.h"

namespace oxbow::gguf {
namespace {

using testing::RawFile;

constexpr uint32_t kF32 = 0;

// One key of every type, and arrays.
RawFile every_type() {
  RawFile file = RawFile::with(0, 17);
  file.key("u8", ValueType::kUint8).number<uint8_t>(200);
  file.key("i8", ValueType::kInt8).number<int8_t>(-100);
  file.key("u16", ValueType::kUint16).number<uint16_t>(60000);
  file.key("i16", ValueType::kInt16).number<int16_t>(-30000);
  file.key("u32", ValueType::kUint32).number<uint32_t>(4000000000U);
  file.key("i32", ValueType::kInt32).number<int32_t>(-2000000000);
  file.key("f32", ValueType::kFloat32).number(1.5f);
  file.key("bool", ValueType::kBool).number<uint8_t>(1);
  file.key("string", ValueType::kString).text("any \xff bytes");
  file.key("u64", ValueType::kUint64).number(std::numeric_limits<uint64_t>::max());
  file.key("i64", ValueType::kInt64).number(std::numeric_limits<int64_t>::min());
  file.key("f64", ValueType::kFloat64).number(0.1);
  file.array("ints", ValueType::kInt16, 3).number<int16_t>(1).number<int16_t>(-2).number<int16_t>(3);
  file.array("floats", ValueType::kFloat32, 2).number(0.5f).number(-4.0f);
  file.array("bools", ValueType::kBool, 3).number<uint8_t>(1).number<uint8_t>(0).number<uint8_t>(1);
  file.array("strings", ValueType::kString, 3).text("a").text("").text("ccc");
  file.array("nested", ValueType::kArray, 2);
  file.type(ValueType::kUint32).number<uint64_t>(1).number<uint32_t>(7);
  file.type(ValueType::kString).number<uint64_t>(1).text("inner");
  return file;
}

template <typename T, typename U>
void expect_value(const Result<std::optional<T>>& got, const U& expected) {
  ASSERT_TRUE(got) << got.error().message;
  ASSERT_TRUE(got->has_value());
  EXPECT_EQ(**got, expected);
}

TEST(Metadata, EveryTypeIsReadWithItsOwnWidthAndSign) {
  const RawFile raw = every_type();
  const auto file = raw.parse();
  ASSERT_TRUE(file) << file.error().message;
  expect_value(file->find_uint("u8"), 200U);
  expect_value(file->find_int("i8"), -100);
  expect_value(file->find_uint("u16"), 60000U);
  expect_value(file->find_int("i16"), -30000);
  expect_value(file->find_uint("u32"), 4000000000U);
  expect_value(file->find_int("i32"), -2000000000);
  expect_value(file->find_float("f32"), 1.5);
  expect_value(file->find_bool("bool"), true);
  expect_value(file->find_string("string"), "any \xff bytes");
  expect_value(file->find_uint("u64"), std::numeric_limits<uint64_t>::max());
  expect_value(file->find_int("i64"), std::numeric_limits<int64_t>::min());
  expect_value(file->find_float("f64"), 0.1);
  expect_value(file->find_int_array("ints"), std::vector<int64_t>{1, -2, 3});
  expect_value(file->find_float_array("floats"), std::vector<float>{0.5f, -4.0f});
  expect_value(file->find_bool_array("bools"), std::vector<bool>{true, false, true});
  const auto strings = file->find_string_array("strings");
  ASSERT_TRUE(strings);
  EXPECT_EQ(**strings, (std::vector<std::string_view>{"a", "", "ccc"}));
  const auto& nested = std::get<Array>(file->find("nested")->data);
  ASSERT_EQ(nested.arrays.size(), 2U);
  EXPECT_EQ(nested.arrays[0].numbers.size(), 4U);
  EXPECT_EQ(nested.arrays[1].strings[0], "inner");
}

TEST(Metadata, KeepsTheOrderOfTheFile) {
  const RawFile raw = every_type();
  const auto file = raw.parse();
  ASSERT_TRUE(file);
  ASSERT_EQ(file->metadata().size(), 17U);
  EXPECT_EQ(file->metadata()[0].first, "u8");
  EXPECT_EQ(file->metadata()[16].first, "nested");
}

TEST(Metadata, AnyIntegerTypeServesAsAnIntegerWhenItFits) {
  const RawFile raw = every_type();
  const auto file = raw.parse();
  ASSERT_TRUE(file);
  expect_value(file->find_int("u32"), 4000000000);
  for (const char* key : {"i8", "i16", "i32", "i64"}) {
    const auto negative = file->find_uint(key);
    ASSERT_FALSE(negative) << key;
    EXPECT_NE(negative.error().message.find("out of range"), std::string::npos) << negative.error().message;
  }
  EXPECT_FALSE(file->find_int("u64"));
}

TEST(Metadata, AbsentKeysAreNothing) {
  const RawFile raw = every_type();
  const auto file = raw.parse();
  ASSERT_TRUE(file);
  EXPECT_EQ(file->find("none"), nullptr);
  EXPECT_EQ(*file->find_uint("none"), std::nullopt);
  EXPECT_EQ(*file->find_int("none"), std::nullopt);
  EXPECT_EQ(*file->find_float("none"), std::nullopt);
  EXPECT_EQ(*file->find_bool("none"), std::nullopt);
  EXPECT_EQ(*file->find_string("none"), std::nullopt);
  EXPECT_EQ(*file->find_int_array("none"), std::nullopt);
  EXPECT_EQ(*file->find_float_array("none"), std::nullopt);
  EXPECT_EQ(*file->find_bool_array("none"), std::nullopt);
  EXPECT_EQ(*file->find_string_array("none"), nullptr);
}

template <typename T>
void expect_wrong_type(const Result<T>& got, std::string_view key, std::string_view is,
                       std::string_view expected) {
  ASSERT_FALSE(got) << key;
  EXPECT_EQ(got.error().kind, ErrorKind::kInvalidInput);
  EXPECT_EQ(got.error().message,
            fmt::format("raw.gguf: metadata key \"{}\" is of type {}, expected {}", key, is, expected));
}

TEST(Metadata, AnotherTypeIsAnErrorThatNamesKeyAndBothTypes) {
  const RawFile raw = every_type();
  const auto file = raw.parse();
  ASSERT_TRUE(file);
  expect_wrong_type(file->find_uint("f32"), "f32", "float32", "an integer");
  expect_wrong_type(file->find_int("bool"), "bool", "bool", "an integer");
  expect_wrong_type(file->find_float("u32"), "u32", "uint32", "a float");
  expect_wrong_type(file->find_bool("u8"), "u8", "uint8", "a bool");
  expect_wrong_type(file->find_string("strings"), "strings", "array of string", "a string");
  expect_wrong_type(file->find_int_array("floats"), "floats", "array of float32", "an array of integers");
  expect_wrong_type(file->find_int_array("u8"), "u8", "uint8", "an array of integers");
  expect_wrong_type(file->find_float_array("ints"), "ints", "array of int16", "an array of floats");
  expect_wrong_type(file->find_bool_array("nested"), "nested", "array of array", "an array of bools");
  expect_wrong_type(file->find_string_array("ints"), "ints", "array of int16", "an array of strings");
}

TEST(Metadata, IntegerArraysOfEveryWidthConvertOrSayWhichNumberDoesNotFit) {
  RawFile raw = RawFile::with(0, 5);
  raw.array("u8", ValueType::kUint8, 2).number<uint8_t>(1).number<uint8_t>(255);
  raw.array("i8", ValueType::kInt8, 1).number<int8_t>(-1);
  raw.array("i64", ValueType::kInt64, 1).number<int64_t>(-5);
  raw.array("u64", ValueType::kUint64, 1).number<uint64_t>(9);
  raw.array("huge", ValueType::kUint64, 2).number<uint64_t>(9).number<uint64_t>(uint64_t{1} << 63);
  const auto file = raw.parse();
  ASSERT_TRUE(file) << file.error().message;
  expect_value(file->find_int_array("u8"), std::vector<int64_t>{1, 255});
  expect_value(file->find_int_array("i8"), std::vector<int64_t>{-1});
  expect_value(file->find_int_array("i64"), std::vector<int64_t>{-5});
  expect_value(file->find_int_array("u64"), std::vector<int64_t>{9});
  const auto huge = file->find_int_array("huge");
  ASSERT_FALSE(huge);
  EXPECT_NE(huge.error().message.find("\"huge\" is 9223372036854775808"), std::string::npos)
      << huge.error().message;
}

RawFile two_tensors(uint32_t version) {
  RawFile raw = RawFile::with(2, 1, version);
  raw.key("general.alignment", ValueType::kUint32).number<uint32_t>(64);
  raw.tensor("second", {3}, kF32, 64).tensor("first", {2, 1, 2}, kF32, 0);
  return raw.data(64 + 12, 64);
}

TEST(Tensors, LieWhereTheFileSaysInBothVersions) {
  for (const uint32_t version : {2U, 3U}) {
    const RawFile raw = two_tensors(version);
    const auto file = raw.parse();
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->version(), version);
    EXPECT_EQ(file->size_bytes(), raw.size());
    ASSERT_EQ(file->tensors().size(), 2U);
    const Tensor* second = file->find_tensor("second");
    ASSERT_EQ(second, &file->tensors()[0]);
    EXPECT_EQ(second->data.data(), raw.bytes().data() + raw.size() - 12);
    EXPECT_EQ(second->data.size(), 12U);
    const Tensor* first = file->find_tensor("first");
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->shape, (std::vector<uint64_t>{2, 1, 2}));
    EXPECT_EQ(first->elements, 4U);
    EXPECT_EQ(first->dimension(2), 2U);
    EXPECT_EQ(first->dimension(3), 1U);
    EXPECT_EQ(file->find_tensor("third"), nullptr);
  }
}

TEST(Tensors, AnyOrderAndGapsAreFine) {
  RawFile raw = RawFile::with(3, 0);
  raw.tensor("c", {1}, kF32, 96).tensor("a", {1}, kF32, 0).tensor("b", {1}, kF32, 32).data(100);
  EXPECT_TRUE(raw.parse());
}

TEST(FileObject, KeepsItsIndexWhenMoved) {
  const RawFile raw = two_tensors(3);
  auto parsed = raw.parse();
  ASSERT_TRUE(parsed);
  File moved = std::move(*parsed);
  File assigned = std::move(moved);
  File third;
  third = std::move(assigned);
  EXPECT_NE(third.find_tensor("first"), nullptr);
  expect_value(third.find_uint("general.alignment"), 64U);
  EXPECT_EQ(third.path(), "raw.gguf");
}

TEST(FileObject, WithoutAnythingInItIsFine) {
  const RawFile raw = RawFile::with(0, 0);
  const auto file = raw.parse();
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->metadata().empty());
  EXPECT_TRUE(file->tensors().empty());
}

TEST(FileObject, ReleasingABorrowedTensorChangesNothing) {
  const RawFile raw = two_tensors(3);
  const auto file = raw.parse();
  ASSERT_TRUE(file);
  file->release(file->tensors()[0]);
  EXPECT_EQ(file->tensors()[0].data[0], std::byte{0});
}

}  // namespace
}  // namespace oxbow::gguf
