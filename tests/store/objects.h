#pragma once
// Objects to put into stores, and what every store must do with them.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "boxes.h"
#include "store/blob_store.h"

namespace oxbow::stores::testing {

inline Partition partition(uint8_t first) {
  Partition result{};
  result[0] = static_cast<std::byte>(first);
  return result;
}

inline std::vector<int32_t> tokens(size_t count, int32_t seed = 0) {
  std::vector<int32_t> result(count);
  for (size_t i = 0; i < count; ++i) result[i] = seed * 1000003 + static_cast<int32_t>(i * i);
  return result;
}

inline Query query(const std::vector<int32_t>& prompt, uint8_t part = 1) {
  return prefix_query(partition(part), std::span(prompt));
}

// The key of the first `position` tokens.
inline Key key_of(const std::vector<int32_t>& prompt, uint64_t position, uint8_t kind = 1, uint8_t part = 1) {
  return {partition(part), position, query(prompt, part).hash_of(position), kind};
}

inline Object object_of(std::string text, Compression compression = Compression::kNone) {
  const auto owner = std::make_shared<const std::string>(std::move(text));
  const auto bytes = bytes_of(*owner);
  const size_t half = bytes.size() / 2;
  return {.kind = ObjectKind::kSegment,
          .fingerprint = fingerprint(),
          .sections = {{.id = {1, 0},
                        .parts = {bytes.first(half), bytes.subspan(half)},
                        .compression = compression}},
          .owner = owner};
}

// The same as object of the first `position` tokens.
inline Object object_at(const std::vector<int32_t>& prompt, uint64_t position, std::string text,
                        Compression compression = Compression::kNone) {
  Object object = object_of(std::move(text), compression);
  object.block_hash = query(prompt).hash_of(block_begin(position));
  return object;
}

// The text of object_of(), or why there is none.
inline std::string text_in(const std::optional<StoredObject>& object) {
  if (!object) return "(miss)";
  const auto bytes = object->reader().read({1, 0}, uint64_t{1} << 30);
  return bytes ? text_of(bytes->bytes()) : bytes.error().message;
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "oxbow-store-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

  // Names in the directory that end so.
  std::vector<std::string> files(std::string_view ending) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (entry.path().string().ends_with(ending)) found.push_back(entry.path().string());
    }
    return found;
  }

 private:
  std::string path_;
};

// What BlobStore promises, on an empty store.
inline void expect_contract(BlobStore& store) {
  const auto prompt = tokens(300);
  const auto other = tokens(300, 7);
  EXPECT_FALSE(store.get(key_of(prompt, 100)));
  EXPECT_TRUE(store.find(query(prompt)).empty());

  for (const uint64_t position : {uint64_t{1}, uint64_t{63}, uint64_t{64}, uint64_t{200}, uint64_t{300}}) {
    EXPECT_TRUE(
        store.put(key_of(prompt, position), object_at(prompt, position, "at " + std::to_string(position))));
  }
  EXPECT_TRUE(
      store.put(key_of(prompt, 64, 2), object_at(prompt, 64, std::string(100000, 'k'), Compression::kZstd)));
  EXPECT_TRUE(store.put(key_of(other, 150), object_at(other, 150, "other prompt")));
  EXPECT_TRUE(store.put(key_of(prompt, 250, 1, 2), object_at(prompt, 250, "other partition")));

  EXPECT_EQ(text_in(store.get(key_of(prompt, 200))), "at 200");
  EXPECT_EQ(text_in(store.get(key_of(prompt, 64, 2))), std::string(100000, 'k'));
  EXPECT_EQ(store.get(key_of(prompt, 64))->reader().fingerprint(), fingerprint());
  EXPECT_FALSE(store.get(key_of(prompt, 65)));
  EXPECT_TRUE(store.contains(key_of(prompt, 63)));
  EXPECT_FALSE(store.contains(key_of(other, 63)));

  const std::vector<Key> all = {key_of(prompt, 300),   key_of(prompt, 200), key_of(prompt, 64),
                                key_of(prompt, 64, 2), key_of(prompt, 63),  key_of(prompt, 1)};
  EXPECT_EQ(store.find(query(prompt)), all);
  const std::vector<int32_t> shorter(prompt.begin(), prompt.begin() + 199);
  EXPECT_EQ(store.find(query(shorter)), std::vector<Key>(all.begin() + 2, all.end()));
  auto diverged = prompt;
  diverged[199] ^= 1;
  EXPECT_EQ(store.find(query(diverged)), std::vector<Key>(all.begin() + 2, all.end()));
  Query two = query(prompt);
  two.limit = 2;
  EXPECT_EQ(store.find(two), std::vector<Key>(all.begin(), all.begin() + 2));
  EXPECT_EQ(store.find(query(prompt, 2)), std::vector<Key>{key_of(prompt, 250, 1, 2)});
  EXPECT_TRUE(store.find(query(prompt, 3)).empty());

  EXPECT_EQ(store.find(query(prompt)).size(), all.size());
  store.erase(key_of(prompt, 64));
  EXPECT_FALSE(store.get(key_of(prompt, 64)));
  EXPECT_EQ(store.find(query(prompt)).size(), all.size() - 1);
  EXPECT_EQ(store.statistics().puts, 8U);
  EXPECT_TRUE(store.put(key_of(prompt, 300), object_at(prompt, 300, "at 300")));
  EXPECT_EQ(store.statistics().puts, 8U);
  EXPECT_EQ(store.statistics().known, 1U);
  EXPECT_EQ(store.statistics().hits, 3U);
  EXPECT_EQ(store.statistics().misses, 3U);
  EXPECT_EQ(store.statistics().refused, 0U);
}

}  // namespace oxbow::stores::testing
