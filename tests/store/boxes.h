#pragma once
// Containers for tests: written with the writer, or changed by hand with the checksums put right again.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "store/container_reader.h"
#include "store/container_writer.h"

namespace oxbow::stores::testing {

using Bytes = std::vector<std::byte>;

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline ByteSink append_to(Bytes& bytes) {
  return [&bytes](std::span<const std::byte> part) -> Status {
    bytes.insert(bytes.end(), part.begin(), part.end());
    return {};
  };
}

inline Fingerprint fingerprint(uint8_t first = 7) {
  Fingerprint result{};
  for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<std::byte>(first + i);
  return result;
}

// Two plain sections, an empty one and a compressed one.
inline Bytes small_box() {
  Bytes bytes;
  ContainerWriter writer(append_to(bytes), ObjectKind::kSession, fingerprint());
  EXPECT_TRUE(writer.add({1, 0}, bytes_of("the first section")));
  EXPECT_TRUE(writer.add({1, 1}, bytes_of(std::string(64, 'x'))));
  EXPECT_TRUE(writer.add({2, 0}, bytes_of("")));
  EXPECT_TRUE(writer.add({3, 0}, bytes_of(std::string(5000, 'z')), Compression::kZstd));
  EXPECT_TRUE(writer.finish());
  EXPECT_EQ(writer.size_bytes(), bytes.size());
  return bytes;
}

// Positions of the parts of a container that is well formed but for checksums.
struct Box {
  Bytes bytes;

  std::byte* trailer() { return bytes.data() + bytes.size() - layout::kTrailerBytes; }
  std::byte* entry(size_t i) {
    return bytes.data() + load<uint64_t>(trailer() + 8) + i * layout::kEntryBytes;
  }

  // Makes the checksums of header and manifest true, so that a change is met by the check behind them.
  Box& seal() {
    store(bytes.data() + 56, hash64(std::span(bytes).first(56)));
    const uint64_t manifest = load<uint64_t>(trailer() + 8);
    Hasher hasher;
    hasher.update(std::span(bytes).first(layout::kHeaderBytes));
    if (manifest <= bytes.size() - 16) {
      hasher.update(std::span(bytes).subspan(manifest, bytes.size() - 16 - manifest));
    }
    store(trailer() + 24, hasher.digest64());
    return *this;
  }
};

}  // namespace oxbow::stores::testing
