#pragma once
// Hashes of all prefixes of one prompt, and the question that a store answers with them.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/hash.h"
#include "store/key.h"

namespace oxbow::stores {

// Positions are grouped in blocks of this many; a block is named by the hash of all items before it.
inline constexpr uint64_t kBlockItems = 64;

// Where the block of a position begins.
constexpr uint64_t block_begin(uint64_t position) {
  return position / kBlockItems * kBlockItems;
}

// Hash of the first `position` items (tokens) of a sequence: XXH3-128 of their bytes. Owns a copy of the
// bytes. Ascending positions cost one pass in all; going back starts over. One thread at a time.
class PrefixHasher {
 public:
  // bytes.size() is a multiple of item_bytes.
  PrefixHasher(std::span<const std::byte> bytes, size_t item_bytes);

  uint64_t length() const { return bytes_.size() / item_bytes_; }

  // position <= length().
  Hash128 at(uint64_t position);

 private:
  std::vector<std::byte> bytes_;
  size_t item_bytes_;
  size_t hashed_ = 0;  // bytes
  Hasher hasher_;
};

// What is stored of a prompt's prefixes? hash_of is called on the thread of the store, with positions from 0
// to length, ascending within each of a few passes.
struct Query {
  Partition partition{};
  uint64_t length = 0;
  std::function<Hash128(uint64_t position)> hash_of;
  size_t limit = 64;  // of keys in the answer
};

// Those of the candidates (any keys, in any order) that answer the query: their partition is the query's,
// their hash that of the prompt's prefix. Longest first, of one prefix kinds ascending, at most query.limit.
std::vector<Key> matches(const Query& query, std::vector<Key> candidates);

// A query about all prefixes of `items`, trivially copyable values such as token ids.
template <typename T>
Query prefix_query(const Partition& partition, std::span<const T> items) {
  Query query{.partition = partition, .length = items.size()};
  query.hash_of = [hasher = PrefixHasher(std::as_bytes(items), sizeof(T))](uint64_t position) mutable {
    return hasher.at(position);
  };
  return query;
}

}  // namespace oxbow::stores
