#pragma once
// A hash index from keys that live elsewhere to 32-bit values: token texts to ids, pairs of symbols to
// merges.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace oxbow::text {

inline uint64_t mix64(uint64_t value) {
  value ^= value >> 32;
  value *= 0x9FB21C651E98DF25;
  value ^= value >> 29;
  value *= 0xD6E8FEB86659FD93;
  return value ^ (value >> 32);
}

inline uint64_t hash_bytes(std::string_view bytes) {
  uint64_t hash = mix64(bytes.size() + 0x9E3779B97F4A7C15);
  while (bytes.size() >= 8) {
    hash = mix64(hash ^ load<uint64_t>(bytes.data()));
    bytes.remove_prefix(8);
  }
  if (bytes.empty()) return hash;
  uint64_t tail = 0;
  std::memcpy(&tail, bytes.data(), bytes.size());
  return mix64(hash ^ tail);
}

// Open addressing with linear probing. Invariants:
// 1. The number of slots is a power of two and at most half of them are taken, so that every probe ends.
// 2. A slot's tag is the upper half of its key's hash; equal tags are told apart by the caller's comparison.
class FlatIndex {
 public:
  explicit FlatIndex(size_t expected = 0) {
    size_t slots = 16;
    while (slots < expected * 2 + 2) slots *= 2;
    slots_.resize(slots);
  }

  // The value inserted under this hash for which is_key(value) holds.
  template <typename IsKey>
  std::optional<uint32_t> find(uint64_t hash, IsKey&& is_key) const {
    const auto tag = static_cast<uint32_t>(hash >> 32);
    for (size_t at = hash & (slots_.size() - 1); slots_[at].value != kFree;
         at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].tag == tag && is_key(slots_[at].value)) return slots_[at].value;
    }
    return std::nullopt;
  }

  // value must be below 2^32 - 1, and its key not in the index yet. hash_of(value) gives back the hash of any
  // value that was inserted before; it is called when the index grows.
  template <typename HashOf>
  void insert(uint64_t hash, uint32_t value, HashOf&& hash_of) {
    if ((count_ + 1) * 2 > slots_.size()) {
      std::vector<Slot> old(slots_.size() * 2);
      old.swap(slots_);
      for (const Slot& slot : old) {
        if (slot.value != kFree) place(hash_of(slot.value), slot.value);
      }
    }
    place(hash, value);
    ++count_;
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  struct Slot {
    uint32_t tag = 0;
    uint32_t value = kFree;
  };

  void place(uint64_t hash, uint32_t value) {
    size_t at = hash & (slots_.size() - 1);
    while (slots_[at].value != kFree) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {static_cast<uint32_t>(hash >> 32), value};
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace oxbow::text
