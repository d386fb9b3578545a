#pragma once
// Sets of characters as sequences of byte ranges.

#include <cstdint>
#include <span>
#include <vector>

#include "grammar/expressions.h"

namespace oxbow::grammar {

struct ByteRange {
  uint8_t first, last;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

inline constexpr size_t kMaxUtf8Bytes = 4;

// One to four ranges: every choice of one byte from each is one character's UTF-8.
struct ByteSequence {
  ByteRange ranges[kMaxUtf8Bytes];
  uint8_t size;
};

// All characters of a normalized set, ascending, no character twice. Two sequences begin with the same range
// or with ranges that share no byte; so do their rests.
std::vector<ByteSequence> utf8_sequences(std::span<const CharacterRange> ranges);

}  // namespace oxbow::grammar
