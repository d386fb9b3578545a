#include "base/sha256.h"

#include <algorithm>
#include <bit>

#include "base/bytes.h"

namespace oxbow {
namespace {

// First 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr size_t kBlockBytes = 64;

std::array<std::byte, kBlockBytes> padded(std::span<const std::byte> key, std::byte pad) {
  std::array<std::byte, kBlockBytes> block{};
  if (key.size() > kBlockBytes) {
    const Sha256Digest shorter = sha256(key);
    std::copy(shorter.begin(), shorter.end(), block.begin());
  } else {
    std::copy(key.begin(), key.end(), block.begin());
  }
  for (std::byte& byte : block) byte ^= pad;
  return block;
}

}  // namespace

Sha256::Sha256()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
      pending_{} {}

void Sha256::compress(const std::byte* block) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i) w[i] = __builtin_bswap32(load<uint32_t>(block + 4 * i));
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<uint32_t, 8> sum = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state_[i] += sum[i];
}

void Sha256::update(std::span<const std::byte> bytes) {
  size_t used = size_bytes_ % kBlockBytes;
  size_bytes_ += bytes.size();
  while (!bytes.empty()) {
    if (used == 0 && bytes.size() >= kBlockBytes) {
      compress(bytes.data());
      bytes = bytes.subspan(kBlockBytes);
      continue;
    }
    const size_t taken = std::min(kBlockBytes - used, bytes.size());
    std::copy_n(bytes.begin(), taken, pending_.begin() + static_cast<std::ptrdiff_t>(used));
    bytes = bytes.subspan(taken);
    used += taken;
    if (used < kBlockBytes) return;
    compress(pending_.data());
    used = 0;
  }
}

Sha256Digest Sha256::digest() {
  const uint64_t size_bits = __builtin_bswap64(size_bytes_ * 8);
  // One bit, then zeros up to 8 bytes before the end of a block.
  static constexpr std::array<std::byte, kBlockBytes> kPadding = {std::byte{0x80}};
  const size_t used = size_bytes_ % kBlockBytes;
  update(std::span(kPadding).first(used < 56 ? 56 - used : 120 - used));
  update(std::as_bytes(std::span(&size_bits, 1)));
  Sha256Digest result;
  for (size_t i = 0; i < 8; ++i) store(result.data() + 4 * i, __builtin_bswap32(state_[i]));
  return result;
}

Sha256Digest sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.digest();
}

HmacSha256::HmacSha256(std::span<const std::byte> key) {
  inner_.update(padded(key, std::byte{0x36}));
  outer_.update(padded(key, std::byte{0x5c}));
}

Sha256Digest HmacSha256::digest() {
  outer_.update(inner_.digest());
  return outer_.digest();
}

bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.size() != b.size()) return false;
  // volatile: the loop may not end early.
  volatile unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference = difference | std::to_integer<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace oxbow
