#include "store/prefix.h"

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace oxbow::stores {

PrefixHasher::PrefixHasher(std::span<const std::byte> bytes, size_t item_bytes)
    : bytes_(bytes.begin(), bytes.end()), item_bytes_(item_bytes) {
  OXBOW_CHECK(item_bytes > 0 && bytes.size() % item_bytes == 0);
}

Hash128 PrefixHasher::at(uint64_t position) {
  OXBOW_CHECK(position <= length());
  const size_t end = position * item_bytes_;
  if (end < hashed_) {
    hasher_ = Hasher();
    hashed_ = 0;
  }
  hasher_.update(std::span(bytes_).subspan(hashed_, end - hashed_));
  hashed_ = end;
  return hasher_.digest128();
}

std::vector<Key> matches(const Query& query, std::vector<Key> candidates) {
  // Ascending, so that the prompt is hashed in one pass.
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  std::optional<Hash128> hash;
  uint64_t position = 0;
  std::erase_if(candidates, [&](const Key& key) {
    if (key.partition != query.partition || key.position > query.length) return true;
    if (!hash || position != key.position) hash = query.hash_of(position = key.position);
    return key.hash != *hash;
  });
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Key& a, const Key& b) { return a.position > b.position; });
  if (candidates.size() > query.limit) candidates.resize(query.limit);
  return candidates;
}

}  // namespace oxbow::stores
