#pragma once
// Which tokens may come next: one bit per token of the vocabulary.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "text/vocabulary.h"

namespace oxbow::grammar {

using text::TokenId;

// A value. Bits at or above size() are zero.
class TokenMask {
 public:
  TokenMask() = default;
  // All tokens forbidden.
  explicit TokenMask(size_t size) : size_(size), words_((size + 31) / 32, 0) {}

  size_t size() const { return size_; }  // tokens
  bool allows(TokenId id) const {
    return contains(id) && (words_[static_cast<size_t>(id) / 32] >> (static_cast<size_t>(id) % 32) & 1) != 0;
  }
  // Ids outside the vocabulary are ignored.
  void allow(TokenId id) {
    if (contains(id)) words_[static_cast<size_t>(id) / 32] |= uint32_t{1} << (static_cast<size_t>(id) % 32);
  }
  size_t count() const {
    size_t total = 0;
    for (const uint32_t word : words_) total += static_cast<size_t>(std::popcount(word));
    return total;
  }
  // Token 32 * w + b is bit b of word w.
  std::span<const uint32_t> words() const { return words_; }
  size_t size_bytes() const { return words_.size() * sizeof(uint32_t); }

  friend bool operator==(const TokenMask&, const TokenMask&) = default;

 private:
  bool contains(TokenId id) const { return id >= 0 && static_cast<size_t>(id) < size_; }

  size_t size_ = 0;
  std::vector<uint32_t> words_;
};

}  // namespace oxbow::grammar
