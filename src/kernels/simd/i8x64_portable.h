#pragma once
// U8x64 as four vectors of 16 bytes in the compilers' vector notation. See i8x64.h for the contract.

OXBOW_ISA_BEGIN

typedef uint16_t Word8 __attribute__((vector_size(16)));
typedef int16_t Short8 __attribute__((vector_size(16)));

// Lane i of vector k holds bytes 16 k + 2 i (low) and 16 k + 2 i + 1 (high).
struct U8x64 {
  Word8 q[4];
};

inline constexpr bool kSignedBytes = false;
template <int kMaxCode>
inline constexpr size_t kQuadsPerDot = 1;
inline constexpr size_t kFewTokens = 1;
inline constexpr size_t kTilePanels = 1;
inline constexpr size_t kTileTokens = 1;

OXBOW_INLINE U8x64 load_codes(const uint8_t* p) {
  U8x64 a;
  __builtin_memcpy(&a, p, sizeof(a));
  return a;
}
OXBOW_INLINE void store_codes(uint8_t* p, U8x64 a) {
  __builtin_memcpy(p, &a, sizeof(a));
}

OXBOW_INLINE Word8 every_byte(int byte) {
  const uint16_t w = static_cast<uint16_t>(byte * 0x101);
  return Word8{w, w, w, w, w, w, w, w};
}
template <int kFrom, int kTo>
OXBOW_INLINE U8x64 take_bits(U8x64 a, int mask) {
  U8x64 r;
  for (int k = 0; k < 4; ++k) {
    if constexpr (kFrom >= kTo) r.q[k] = (a.q[k] >> (kFrom - kTo)) & every_byte(mask);
    if constexpr (kFrom < kTo) r.q[k] = (a.q[k] << (kTo - kFrom)) & every_byte(mask);
  }
  return r;
}
OXBOW_INLINE U8x64 bit_or(U8x64 a, U8x64 b) {
  return {{a.q[0] | b.q[0], a.q[1] | b.q[1], a.q[2] | b.q[2], a.q[3] | b.q[3]}};
}
OXBOW_INLINE U8x64 low_nibbles(U8x64 a) {
  return take_bits<0, 0>(a, 15);
}
OXBOW_INLINE U8x64 high_nibbles(U8x64 a) {
  return take_bits<4, 0>(a, 15);
}
template <int kIndex>
OXBOW_INLINE U8x64 crumbs(U8x64 a) {
  return take_bits<2 * kIndex, 0>(a, 3);
}
// Only the first 16 bytes of the table count.
OXBOW_INLINE U8x64 make_table(const uint8_t* p) {
  U8x64 table;
  __builtin_memcpy(&table, p, 16);
  return table;
}
OXBOW_INLINE U8x64 lookup(U8x64 a, const U8x64& table) {
  uint8_t codes[64];
  uint8_t values[16];
  __builtin_memcpy(codes, &a, sizeof(codes));
  __builtin_memcpy(values, &table, sizeof(values));
  for (int i = 0; i < 64; ++i) codes[i] = values[codes[i]];
  return load_codes(codes);
}
template <int kBit>
OXBOW_INLINE U8x64 add_bit(U8x64 a, U8x64 plane) {
  return bit_or(a, take_bits<kBit, 4>(plane, 16));
}
template <int kIndex>
OXBOW_INLINE U8x64 add_crumbs(U8x64 a, U8x64 plane) {
  return bit_or(a, take_bits<2 * kIndex, 4>(plane, 48));
}

// The two signed halves of each 32-bit lane, added.
OXBOW_INLINE Int4 half_sums(Short8 products) {
  const Int4 pairs = (Int4)products;
  return ((Int4)((Uint4)pairs << 16) >> 16) + (pairs >> 16);
}

// One product of a code and an activation fits 16 bits: 255 * 127 < 2^15.
template <size_t kQuads, int kMaxCode>
OXBOW_INLINE I32x16 dot(I32x16 acc, const U8x64* w, const int8_t* x, size_t stride) {
  for (size_t j = 0; j < kQuads; ++j) {
    const int8_t* q = x + j * stride;
    const Short8 even = {q[0], q[2], q[0], q[2], q[0], q[2], q[0], q[2]};
    const Short8 odd = {q[1], q[3], q[1], q[3], q[1], q[3], q[1], q[3]};
    for (int k = 0; k < 4; ++k) {
      const Short8 low = (Short8)(w[j].q[k] & 0x00ff);
      const Short8 high = (Short8)(w[j].q[k] >> 8);
      acc.q[k] += half_sums(low * even) + half_sums(high * odd);
    }
  }
  return acc;
}

OXBOW_ISA_END
