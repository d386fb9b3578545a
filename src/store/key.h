#pragma once
// The name of an object in a store.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/hash.h"

namespace oxbow::stores {

// Who may find an object: made by the caller from the fingerprint and a salt per user. Nothing is ever found
// across partitions.
using Partition = std::array<std::byte, 16>;

// Ordered by partition, then position.
struct Key {
  Partition partition{};
  uint64_t position = 0;  // length of the prefix, in tokens
  Hash128 hash;           // of the prefix
  uint8_t kind = 0;       // tells objects of one prefix apart; meaning is the caller's

  friend auto operator<=>(const Key&, const Key&) = default;
};

// Fixed bytes, as they stand inside an object (docs/formats/container.md).
inline constexpr size_t kKeyBytes = 48;
std::array<std::byte, kKeyBytes> to_bytes(const Key& key);

// 32 hexadecimal digits of the partition, 16 of the position, 32 of the hash and 2 of the kind, with dashes
// between; parse_key() takes exactly what to_name() makes.
inline constexpr size_t kKeyNameLength = 85;
std::string to_name(const Key& key);
std::optional<Key> parse_key(std::string_view name);

std::string to_hex(std::span<const std::byte> bytes);

}  // namespace oxbow::stores
