// A sound file, damaged in every way that is cheap to list: each result is an error or a file whose views are
// in range.

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/bytes.h"
#include "gguf/file.h"
#include "gguf/writer.h"
#include "walk.h"

namespace oxbow::gguf {
namespace {

using testing::copy_of;
using testing::Walker;

// Like a small model: a key of every kind, a vocabulary, tensors of several types and shapes.
std::vector<std::byte> sound_file() {
  Writer writer;
  writer.add_string("general.architecture", "llama");
  writer.add_uint32("general.alignment", 32);
  writer.add_uint32("llama.block_count", 2);
  writer.add_int32("llama.offset", -3);
  writer.add_uint64("llama.context_length", 1 << 20);
  writer.add_float32("llama.epsilon", 1e-5f);
  writer.add_bool("tokenizer.ggml.add_bos_token", true);
  writer.add_array("tokenizer.ggml.tokens", std::vector<std::string_view>{"<s>", "a", "", "b\xc3\xa9"});
  writer.add_array("tokenizer.ggml.scores", std::vector<float>{0, -1, -2, -3});
  writer.add_array("tokenizer.ggml.token_type", std::vector<int32_t>{3, 1, 1, 1});
  writer.add_bool_array("llama.recurrent", {true, false});
  Array inner{ValueType::kString, 2, {}, {"x", "yz"}, {}};
  writer.add_value("nested", Value{ValueType::kArray, Array{ValueType::kArray, 2, {}, {}, {inner, inner}}});
  const std::vector<std::byte> data(1024, std::byte{0x3c});
  const auto tensor = [&](const char* name, TensorType type, std::vector<uint64_t> shape, size_t size_bytes) {
    writer.add_tensor(name, type, shape, std::span(data).first(size_bytes));
  };
  tensor("token_embd.weight", TensorType::kF16, {8, 4}, 64);
  tensor("blk.0.ffn_up.weight", TensorType::kQ8_0, {32, 3}, 102);
  tensor("blk.0.experts", TensorType::kF32, {2, 2, 2, 2}, 64);
  tensor("output.weight", TensorType::kQ4_K, {256, 2}, 288);
  return *writer.bytes();
}

class DamagedFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto file = File::parse(sound_, "sound");
    ASSERT_TRUE(file) << file.error().message;
    header_bytes_ = static_cast<size_t>(file->find_tensor("token_embd.weight")->data.data() - sound_.data());
  }

  // bytes are a copy of exactly this size, so that a sanitizer sees the first byte read past the end.
  void check(const std::vector<std::byte>& bytes) {
    const auto file = File::parse(bytes, "damaged.gguf");
    if (!file) {
      ++refused_;
      ASSERT_EQ(file.error().message.find("damaged.gguf: "), 0U) << file.error().message;
      ASSERT_LT(file.error().message.size(), 500U);
      return;
    }
    ++accepted_;
    ASSERT_TRUE(Walker(bytes).walk(*file));
    const auto rewritten = copy_of(*file).bytes();
    ASSERT_TRUE(rewritten) << rewritten.error().message;
    ASSERT_TRUE(File::parse(*rewritten, "rewritten"));
  }

  const std::vector<std::byte> sound_ = sound_file();
  size_t header_bytes_ = 0;
  size_t accepted_ = 0;
  size_t refused_ = 0;
};

TEST_F(DamagedFiles, TheSoundFileIsAccepted) {
  check(sound_);
  EXPECT_EQ(accepted_, 1U);
  EXPECT_GT(header_bytes_, 700U);
}

TEST_F(DamagedFiles, EveryByteOfTheHeaderWithOtherValues) {
  for (size_t i = 0; i < header_bytes_; ++i) {
    const auto old = static_cast<uint8_t>(sound_[i]);
    for (const int value : {0, 1, 9, 0x7f, 0x80, 0xff, old ^ 1, old ^ 0x20, old + 1, old - 1}) {
      auto bytes = sound_;
      bytes[i] = static_cast<std::byte>(value);
      ASSERT_NO_FATAL_FAILURE(check(bytes)) << "byte " << i << " set to " << value;
    }
  }
  EXPECT_GT(refused_, 1000U);
  EXPECT_GT(accepted_, 1000U);
}

TEST_F(DamagedFiles, EveryEightBytesOfTheHeaderWithExtremeNumbers) {
  const uint64_t size = sound_.size();
  for (size_t i = 0; i + 8 <= header_bytes_; ++i) {
    for (const uint64_t value :
         {uint64_t{0}, uint64_t{1}, size, size - i, size - i - 8, uint64_t{1} << 31, uint64_t{1} << 32,
          uint64_t{1} << 60, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{31}}) {
      auto bytes = sound_;
      store(bytes.data() + i, value);
      ASSERT_NO_FATAL_FAILURE(check(bytes)) << "bytes from " << i << " set to " << value;
    }
  }
  EXPECT_GT(refused_, 1000U);
}

TEST_F(DamagedFiles, CutOffAnywhereTheyAreRefused) {
  for (size_t size = 0; size < sound_.size(); ++size) {
    ASSERT_NO_FATAL_FAILURE(check({sound_.begin(), sound_.begin() + static_cast<std::ptrdiff_t>(size)}))
        << size;
  }
  // Only the padding behind the last tensor may be missing.
  EXPECT_LT(accepted_, 32U);
}

TEST_F(DamagedFiles, BytesInsertedOrRemovedAnywhere) {
  for (size_t i = 0; i < header_bytes_; ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    for (const size_t count : {1U, 4U, 8U, 32U}) {
      auto longer = sound_;
      longer.insert(longer.begin() + at, count, std::byte{1});
      ASSERT_NO_FATAL_FAILURE(check(longer)) << count << " inserted at " << i;
      auto shorter = sound_;
      shorter.erase(shorter.begin() + at, shorter.begin() + at + static_cast<std::ptrdiff_t>(count));
      ASSERT_NO_FATAL_FAILURE(check(shorter)) << count << " removed at " << i;
    }
  }
  EXPECT_GT(refused_, 1000U);
}

TEST_F(DamagedFiles, BytesAtTheEndAreIgnored) {
  auto longer = sound_;
  longer.resize(longer.size() + 1000, std::byte{0xaa});
  check(longer);
  EXPECT_EQ(accepted_, 1U);
}

TEST_F(DamagedFiles, SeveralRandomChangesAtOnce) {
  std::mt19937_64 random(20260930);
  for (int round = 0; round < 20000; ++round) {
    auto bytes = sound_;
    for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      const size_t i = random() % header_bytes_;
      if (random() % 2 == 0) {
        bytes[i] = static_cast<std::byte>(random());
      } else {
        bytes[i] = bytes[random() % header_bytes_];
      }
    }
    ASSERT_NO_FATAL_FAILURE(check(bytes)) << "round " << round;
  }
}

}  // namespace
}  // namespace oxbow::gguf
