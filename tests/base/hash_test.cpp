#include "base/hash.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/sha256.h"

namespace oxbow {
namespace {

std::vector<std::byte> pattern(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 131 + (i >> 8));
  return bytes;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

TEST(Hash, EmptyInputHasThePublishedValues) {
  EXPECT_EQ(hash64({}), 0x2d06800538d394c2U);
  EXPECT_EQ(to_hex(hash128({})), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, PiecesGiveTheHashOfTheWhole) {
  for (const size_t size : {0, 1, 16, 17, 128, 129, 240, 241, 256, 1024, 1025, 5000}) {
    const auto bytes = pattern(size);
    for (const size_t piece : {1, 7, 64, 256, 300}) {
      Hasher hasher;
      for (size_t at = 0; at < size; at += piece) {
        hasher.update(std::span(bytes).subspan(at, std::min(piece, size - at)));
      }
      EXPECT_EQ(hasher.digest64(), hash64(bytes)) << size << " in pieces of " << piece;
      EXPECT_EQ(hasher.digest128(), hash128(bytes)) << size << " in pieces of " << piece;
    }
  }
}

TEST(Hash, EveryPrefixIsHashedInOnePassAndCopiesGoOnAlone) {
  const auto bytes = pattern(700);
  Hasher hasher;
  for (size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_EQ(hasher.digest128(), hash128(std::span(bytes).first(i))) << i;
    Hasher copy = hasher;
    copy.update(bytes_of("other"));
    hasher.update(std::span(bytes).subspan(i, 1));
  }
}

TEST(Sha256, MatchesTheStandardsExamples) {
  EXPECT_EQ(hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256(bytes_of("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  Sha256 million;
  const std::string thousand(1000, 'a');
  for (int i = 0; i < 1000; ++i) million.update(bytes_of(thousand));
  EXPECT_EQ(hex(million.digest()), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheDigestOfTheWholeAroundEveryBlockBoundary) {
  for (size_t size = 0; size < 200; ++size) {
    const auto bytes = pattern(size);
    Sha256 pieces;
    for (size_t at = 0; at < size; at += 13)
      pieces.update(std::span(bytes).subspan(at, std::min<size_t>(13, size - at)));
    EXPECT_EQ(pieces.digest(), sha256(bytes)) << size;
  }
}

std::string hmac(std::span<const std::byte> key, std::string_view text) {
  HmacSha256 code(key);
  code.update(bytes_of(text));
  return hex(code.digest());
}

// RFC 4231, cases 1, 2 and 6.
TEST(HmacSha256, MatchesThePublishedVectors) {
  EXPECT_EQ(hmac(std::vector<std::byte>(20, std::byte{0x0b}), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac(bytes_of("Jefe"), "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac(std::vector<std::byte>(131, std::byte{0xaa}),
                 "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(HmacSha256, ComparisonSeesEveryByteAndTheLength) {
  const auto bytes = pattern(32);
  EXPECT_TRUE(equal_in_constant_time(bytes, bytes));
  EXPECT_FALSE(equal_in_constant_time(bytes, std::span(bytes).first(31)));
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto other = bytes;
    other[i] ^= std::byte{1};
    EXPECT_FALSE(equal_in_constant_time(bytes, other)) << i;
  }
}

}  // namespace
}  // namespace oxbow
