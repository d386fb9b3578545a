#pragma once
// SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104): who wrote these bytes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace oxbow {

using Sha256Digest = std::array<std::byte, 32>;

// Bytes in pieces; digest() ends it. One thread at a time.
class Sha256 {
 public:
  Sha256();
  void update(std::span<const std::byte> bytes);
  Sha256Digest digest();

 private:
  void compress(const std::byte* block);

  std::array<uint32_t, 8> state_;
  std::array<std::byte, 64> pending_;
  uint64_t size_bytes_ = 0;
};

Sha256Digest sha256(std::span<const std::byte> bytes);

// A message authentication code under a key of any length.
class HmacSha256 {
 public:
  explicit HmacSha256(std::span<const std::byte> key);
  void update(std::span<const std::byte> bytes) { inner_.update(bytes); }
  Sha256Digest digest();

 private:
  Sha256 inner_;
  Sha256 outer_;
};

// In a time that depends on the lengths alone.
bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b);

}  // namespace oxbow
