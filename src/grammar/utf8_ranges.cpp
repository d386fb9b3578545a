#include "grammar/utf8_ranges.h"

#include <algorithm>
#include <array>

namespace oxbow::grammar {

namespace {

constexpr char32_t kLastOfSize[] = {0x7F, 0x7FF, 0xFFFF, 0x10FFFF};

std::array<uint8_t, kMaxUtf8Bytes> encode(char32_t c, size_t size) {
  constexpr uint8_t kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  std::array<uint8_t, kMaxUtf8Bytes> bytes{};
  const auto tail = [&](size_t bits) { return static_cast<uint8_t>(0x80 | ((c >> bits) & 0x3F)); };
  if (size == 2) bytes = {0, tail(0)};
  if (size == 3) bytes = {0, tail(6), tail(0)};
  if (size == 4) bytes = {0, tail(12), tail(6), tail(0)};
  bytes[0] = static_cast<uint8_t>(kLead[size] | c >> (6 * (size - 1)));
  return bytes;
}

// Characters of one size in bytes. A range whose ends differ in more than trailing groups of six bits that
// go from all zeros to all ones is cut there.
void split(char32_t first, char32_t last, size_t size, std::vector<ByteSequence>& out) {
  for (size_t group = 1; group < size; ++group) {
    const char32_t low = (char32_t{1} << (6 * group)) - 1;
    if ((first & ~low) == (last & ~low)) continue;
    if ((first & low) != 0) {
      split(first, first | low, size, out);
      split((first | low) + 1, last, size, out);
      return;
    }
    if ((last & low) != low) {
      split(first, (last & ~low) - 1, size, out);
      split(last & ~low, last, size, out);
      return;
    }
  }
  const auto from = encode(first, size), to = encode(last, size);
  ByteSequence sequence{{}, static_cast<uint8_t>(size)};
  for (size_t i = 0; i < kMaxUtf8Bytes; ++i) sequence.ranges[i] = {from[i], to[i]};
  out.push_back(sequence);
}

}  // namespace

std::vector<ByteSequence> utf8_sequences(std::span<const CharacterRange> ranges) {
  std::vector<ByteSequence> sequences;
  for (const auto& range : ranges) {
    char32_t first = range.first;
    for (size_t size = 1; size <= 4; ++size) {
      const char32_t last = std::min(range.last, kLastOfSize[size - 1]);
      if (first > last) continue;
      split(first, last, size, sequences);
      first = last + 1;
    }
  }
  return sequences;
}

}  // namespace oxbow::grammar
