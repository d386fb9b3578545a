// The state lives inside Hasher, so its size and layout come from the header's static part.
#define XXH_STATIC_LINKING_ONLY
#include "base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace oxbow {
namespace {

static_assert(sizeof(XXH3_state_t) <= sizeof(Hasher) && alignof(XXH3_state_t) <= alignof(Hasher));

XXH3_state_t* state_of(std::array<std::byte, 576>& bytes) {
  return reinterpret_cast<XXH3_state_t*>(bytes.data());
}
const XXH3_state_t* state_of(const std::array<std::byte, 576>& bytes) {
  return reinterpret_cast<const XXH3_state_t*>(bytes.data());
}

Hash128 from(XXH128_hash_t hash) {
  return {hash.low64, hash.high64};
}

}  // namespace

uint64_t hash64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Hash128 hash128(std::span<const std::byte> bytes) {
  return from(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string to_hex(const Hash128& hash) {
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

// XXH3 absorbs input in one way for both widths; only the digest differs.
Hasher::Hasher() : state_{} {
  XXH3_128bits_reset(state_of(state_));
}

void Hasher::update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_of(state_), bytes.data(), bytes.size());
}

uint64_t Hasher::digest64() const {
  return XXH3_64bits_digest(state_of(state_));
}

Hash128 Hasher::digest128() const {
  return from(XXH3_128bits_digest(state_of(state_)));
}

}  // namespace oxbow
