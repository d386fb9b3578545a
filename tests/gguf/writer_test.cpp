#include "gguf/writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "raw_file.h"

namespace oxbow::gguf {
namespace {

namespace fs = std::filesystem;
using testing::RawFile;

std::vector<std::byte> some_bytes(size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return bytes;
}

void add_tensor(Writer& writer, std::string_view name, TensorType type, std::vector<uint64_t> shape,
                size_t size_bytes) {
  writer.add_tensor(name, type, shape, some_bytes(size_bytes));
}

void expect_error(const Writer& writer, std::initializer_list<std::string_view> parts) {
  const auto bytes = writer.bytes();
  ASSERT_FALSE(bytes) << "expected an error with " << *parts.begin();
  EXPECT_EQ(bytes.error().kind, ErrorKind::kInvalidInput);
  for (const auto part : parts) {
    EXPECT_NE(bytes.error().message.find(part), std::string::npos)
        << bytes.error().message << "\nlacks: " << part;
  }
}

TEST(Writer, MakesTheBytesThatTheFormatAsksFor) {
  Writer writer;
  writer.add_uint32("a", 7);
  writer.add_int32("b", -7);
  writer.add_uint64("c", uint64_t{1} << 40);
  writer.add_float32("d", 0.5f);
  writer.add_bool("e", true);
  writer.add_string("f", "text");
  writer.add_array("g", std::vector<int32_t>{-1, 2});
  writer.add_array("h", std::vector<uint32_t>{1, 2});
  writer.add_array("i", std::vector<float>{1.5f});
  writer.add_bool_array("j", {true, false});
  writer.add_array("k", std::vector<std::string>{"x", ""});
  writer.add_array("l", std::vector<std::string_view>{"yy"});
  add_tensor(writer, "t", TensorType::kF32, {3}, 12);
  add_tensor(writer, "q", TensorType::kQ8_0, {32, 2}, 68);
  const auto written = writer.bytes();
  ASSERT_TRUE(written) << written.error().message;

  RawFile raw = RawFile::with(2, 12);
  raw.key("a", ValueType::kUint32).number<uint32_t>(7);
  raw.key("b", ValueType::kInt32).number<int32_t>(-7);
  raw.key("c", ValueType::kUint64).number(uint64_t{1} << 40);
  raw.key("d", ValueType::kFloat32).number(0.5f);
  raw.key("e", ValueType::kBool).number<uint8_t>(1);
  raw.key("f", ValueType::kString).text("text");
  raw.array("g", ValueType::kInt32, 2).number<int32_t>(-1).number<int32_t>(2);
  raw.array("h", ValueType::kUint32, 2).number<uint32_t>(1).number<uint32_t>(2);
  raw.array("i", ValueType::kFloat32, 1).number(1.5f);
  raw.array("j", ValueType::kBool, 2).number<uint8_t>(1).number<uint8_t>(0);
  raw.array("k", ValueType::kString, 2).text("x").text("");
  raw.array("l", ValueType::kString, 1).text("yy");
  raw.tensor("t", {3}, 0, 0).tensor("q", {32, 2}, 8, 32).data(0);
  const size_t data_start = raw.size();
  raw.zeros(32 + 96);
  std::memcpy(raw.bytes().data() + data_start, some_bytes(12).data(), 12);
  std::memcpy(raw.bytes().data() + data_start + 32, some_bytes(68).data(), 68);
  EXPECT_EQ(*written, raw.bytes());
}

TEST(Writer, CopiesValuesOfEveryTypeUnchanged) {
  RawFile raw = RawFile::with(0, 14);
  raw.key("u8", ValueType::kUint8).number<uint8_t>(200);
  raw.key("i8", ValueType::kInt8).number<int8_t>(-100);
  raw.key("u16", ValueType::kUint16).number<uint16_t>(60000);
  raw.key("i16", ValueType::kInt16).number<int16_t>(-30000);
  raw.key("u32", ValueType::kUint32).number<uint32_t>(4000000000U);
  raw.key("i32", ValueType::kInt32).number<int32_t>(-2000000000);
  raw.key("f32", ValueType::kFloat32).number(1.1f);
  raw.key("bool", ValueType::kBool).number<uint8_t>(1);
  raw.key("string", ValueType::kString).text("any \xff bytes");
  raw.key("u64", ValueType::kUint64).number(~uint64_t{0});
  raw.key("i64", ValueType::kInt64).number(int64_t{-1} << 60);
  raw.key("f64", ValueType::kFloat64).number(0.1);
  raw.array("empty", ValueType::kString, 0);
  raw.array("nested", ValueType::kArray, 2);
  raw.type(ValueType::kUint16).number<uint64_t>(2).number<uint16_t>(7).number<uint16_t>(8);
  raw.type(ValueType::kArray).number<uint64_t>(1).type(ValueType::kString).number<uint64_t>(1).text("inner");
  raw.data(0);
  const auto file = raw.parse();
  ASSERT_TRUE(file) << file.error().message;
  Writer writer;
  for (const auto& [key, value] : file->metadata()) writer.add_value(key, value);
  const auto written = writer.bytes();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(*written, raw.bytes());
}

TEST(Writer, SetReplacesInPlaceOrAdds) {
  Writer writer;
  writer.add_uint32("first", 1);
  writer.add_string("name", "old");
  writer.add_uint32("last", 2);
  writer.set_string("name", "a longer one");
  writer.set_string("first", "was a number");
  writer.set_string("new", "added");
  const auto bytes = writer.bytes();
  ASSERT_TRUE(bytes) << bytes.error().message;
  const auto file = File::parse(*bytes, "written");
  ASSERT_TRUE(file);
  ASSERT_EQ(file->metadata().size(), 4U);
  EXPECT_EQ(file->metadata()[1].first, "name");
  EXPECT_EQ(*file->find_string("name"), "a longer one");
  EXPECT_EQ(*file->find_string("first"), "was a number");
  EXPECT_EQ(*file->find_string("new"), "added");
}

TEST(Writer, AlignsTensorDataAndStatesTheAlignment) {
  for (const uint32_t alignment : {8U, 32U, 64U, 4096U}) {
    Writer writer;
    writer.set_alignment(alignment);
    writer.add_bool("k", true);
    add_tensor(writer, "a", TensorType::kF16, {5}, 10);
    add_tensor(writer, "b", TensorType::kBF16, {5}, 10);
    const auto bytes = writer.bytes();
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_EQ(bytes->size() % alignment, 0U);
    const auto file = File::parse(*bytes, "written");
    ASSERT_TRUE(file) << file.error().message;
    for (const Tensor& tensor : file->tensors()) {
      EXPECT_EQ(static_cast<size_t>(tensor.data.data() - bytes->data()) % alignment, 0U);
      EXPECT_EQ(std::memcmp(tensor.data.data(), some_bytes(10).data(), 10), 0);
    }
    EXPECT_EQ(file->find("general.alignment") == nullptr, alignment == 32);
  }
}

TEST(Writer, FollowsAnAlignmentThatWasAddedAsAKey) {
  Writer writer;
  writer.add_uint32("general.alignment", 128);
  add_tensor(writer, "a", TensorType::kF32, {1}, 4);
  add_tensor(writer, "b", TensorType::kF32, {1}, 4);
  ASSERT_EQ(writer.bytes()->size() % 128, 0U);
  EXPECT_TRUE(File::parse(*writer.bytes(), "written"));
  writer.set_alignment(64);
  expect_error(writer, {"general.alignment", "128", "64"});
}

TEST(Writer, RefusesWhatAReaderWouldRefuse) {
  const auto with = [](auto add) {
    Writer writer;
    add(writer);
    return writer;
  };
  expect_error(with([](Writer& w) { w.add_bool("k", true), w.add_uint32("k", 1); }), {"\"k\"", "twice"});
  expect_error(with([](Writer& w) { w.add_bool("", true); }), {"is empty"});
  expect_error(with([](Writer& w) { w.add_bool("\xff", true); }), {"UTF-8"});
  expect_error(with([](Writer& w) { w.add_bool(std::string(65536, 'k'), true); }), {"65536 bytes"});
  expect_error(with([](Writer& w) { w.set_alignment(24); }), {"alignment is 24"});
  expect_error(with([](Writer& w) { w.set_alignment(4); }), {"alignment is 4"});
  expect_error(with([](Writer& w) { w.add_string("general.alignment", "32"); }),
               {"general.alignment", "uint32"});
  const auto tensor = [&](TensorType type, std::vector<uint64_t> shape, size_t size_bytes) {
    return with([&](Writer& w) { add_tensor(w, "t", type, std::move(shape), size_bytes); });
  };
  expect_error(tensor(TensorType::kF32, {3}, 11), {"\"t\"", "takes 12 bytes", "11"});
  expect_error(tensor(TensorType::kF32, {}, 4), {"\"t\"", "0 dimensions"});
  expect_error(tensor(TensorType::kF32, {1, 1, 1, 1, 1}, 4), {"\"t\"", "5 dimensions"});
  expect_error(tensor(TensorType::kF32, {1, 0}, 0), {"\"t\"", "zero"});
  expect_error(tensor(TensorType::kQ8_0, {16, 2}, 34), {"\"t\"", "16 values", "Q8_0"});
  expect_error(tensor(TensorType::kF32, {uint64_t{1} << 40, uint64_t{1} << 40}, 0), {"\"t\"", "64 bits"});
  expect_error(with([](Writer& w) {
                 add_tensor(w, "t", TensorType::kF32, {1}, 4);
                 add_tensor(w, "t", TensorType::kF32, {1}, 4);
               }),
               {"\"t\"", "twice"});
}

class WriterOnDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / fmt::format("oxbow-gguf-writer-{}", ::getpid());
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }
  std::string path(const char* name) const { return (directory_ / name).string(); }

  fs::path directory_;
};

TEST_F(WriterOnDisk, WritesTheSameBytesThatItReturns) {
  Writer writer;
  writer.add_string("general.name", "small");
  add_tensor(writer, "t", TensorType::kQ4_K, {256, 3}, 3 * 144);
  ASSERT_TRUE(writer.write(path("model.gguf")));
  const auto file = File::open(path("model.gguf"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->size_bytes(), writer.bytes()->size());
  EXPECT_EQ(*file->find_string("general.name"), "small");
  const auto& tensor = file->tensors()[0];
  EXPECT_EQ(std::memcmp(tensor.data.data(), some_bytes(3 * 144).data(), tensor.data.size()), 0);
  file->release(tensor);
  EXPECT_EQ(tensor.data[1], std::byte{8});  // read back from the file
}

TEST_F(WriterOnDisk, AnErrorInTheContentsLeavesNoFile) {
  Writer writer;
  writer.add_bool("k", true);
  writer.add_bool("k", true);
  EXPECT_FALSE(writer.write(path("model.gguf")));
  EXPECT_TRUE(fs::is_empty(directory_));
}

// A limit on the size of files stands for a full disk: the write fails half way.
TEST_F(WriterOnDisk, AFullDiskIsAnErrorAndKeepsTheOldFile) {
  std::ofstream(path("model.gguf")) << "old";
  Writer writer;
  add_tensor(writer, "t", TensorType::kF32, {100000}, 400000);

  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 100000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto status = writer.write(path("model.gguf"));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kIo);
  EXPECT_NE(status.error().message.find("model.gguf: cannot be written"), std::string::npos)
      << status.error().message;
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 1);
  EXPECT_EQ(fs::file_size(path("model.gguf")), 3U);
}

}  // namespace
}  // namespace oxbow::gguf
