#include "store/prefix.h"

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

}  // namespace oxbow::stores
