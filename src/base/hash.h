#pragma once
// XXH3, the project's one non-cryptographic hash: checksums and names of content. Nobody who can choose the
// input is kept from finding collisions; base/sha256.h is for that.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace oxbow {

// 128 bits; ordered so that it can be a key.
struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;

  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

uint64_t hash64(std::span<const std::byte> bytes);
Hash128 hash128(std::span<const std::byte> bytes);

// 32 lowercase digits, high half first.
std::string to_hex(const Hash128& hash);

// The same values for bytes that arrive in pieces: a digest covers all updates so far and may be followed by
// more. A copy continues on its own. No allocation; one thread at a time.
class Hasher {
 public:
  Hasher();
  void update(std::span<const std::byte> bytes);
  uint64_t digest64() const;
  Hash128 digest128() const;

 private:
  alignas(64) std::array<std::byte, 576> state_;
};

}  // namespace oxbow
