#include "store/key.h"

#include <gtest/gtest.h>

#include "objects.h"

namespace oxbow::stores {
namespace {

using testing::key_of;
using testing::tokens;

TEST(Key, NameIsReadBack) {
  Key key = key_of(tokens(100), 77, 0xab);
  key.partition[15] = std::byte{0xff};
  const std::string name = to_name(key);
  EXPECT_EQ(name.size(), kKeyNameLength);
  EXPECT_EQ(parse_key(name), key);
  key.position = ~uint64_t{0};
  EXPECT_EQ(parse_key(to_name(key)), key);
}

TEST(Key, AnyOtherNameIsRefused) {
  const std::string name = to_name(key_of(tokens(100), 77));
  for (size_t i = 0; i < name.size(); ++i) {
    for (const char wrong : {'g', 'A', ' ', '/', '\0', '+'}) {
      std::string other = name;
      other[i] = wrong;
      EXPECT_FALSE(parse_key(other)) << i << wrong;
    }
    EXPECT_FALSE(parse_key(name.substr(0, i)));
    EXPECT_FALSE(parse_key(name.substr(i + 1)));
  }
  EXPECT_FALSE(parse_key(name + "0"));
}

TEST(Key, BytesDifferWhereKeysDo) {
  const Key key = key_of(tokens(100), 77);
  for (const Key& other : {key_of(tokens(100), 78), key_of(tokens(100, 1), 77), key_of(tokens(100), 77, 2),
                           key_of(tokens(100), 77, 1, 2)}) {
    EXPECT_NE(to_bytes(other), to_bytes(key));
    EXPECT_NE(to_name(other), to_name(key));
  }
}

TEST(PrefixHasher, GivesTheHashOfThePrefixInAnyOrder) {
  const auto prompt = tokens(500);
  const auto bytes = std::as_bytes(std::span(prompt));
  PrefixHasher hasher(bytes, 4);
  for (const uint64_t position : {0, 1, 64, 64, 65, 500, 3, 499, 0}) {
    EXPECT_EQ(hasher.at(position), hash128(bytes.first(position * 4))) << position;
  }
}

}  // namespace
}  // namespace oxbow::stores
