#pragma once
// U8x64 as one AVX-512 register; dot is VNNI's vpdpbusd. See i8x64.h for the contract.

#include <immintrin.h>

OXBOW_ISA_BEGIN

struct U8x64 {
  __m512i v;
};

inline constexpr bool kSignedBytes = false;
template <int kMaxCode>
inline constexpr size_t kQuadsPerDot = 1;
inline constexpr size_t kFewTokens = 8;
inline constexpr size_t kTilePanels = 2;
inline constexpr size_t kTileTokens = 4;

OXBOW_INLINE U8x64 load_codes(const uint8_t* p) {
  return {_mm512_loadu_si512(p)};
}
OXBOW_INLINE void store_codes(uint8_t* p, U8x64 a) {
  _mm512_storeu_si512(p, a.v);
}

OXBOW_INLINE U8x64 low_nibbles(U8x64 a) {
  return {_mm512_and_si512(a.v, _mm512_set1_epi8(15))};
}
OXBOW_INLINE U8x64 high_nibbles(U8x64 a) {
  return {_mm512_and_si512(_mm512_srli_epi16(a.v, 4), _mm512_set1_epi8(15))};
}
template <int kIndex>
OXBOW_INLINE U8x64 crumbs(U8x64 a) {
  return {_mm512_and_si512(_mm512_srli_epi16(a.v, 2 * kIndex), _mm512_set1_epi8(3))};
}

OXBOW_INLINE U8x64 make_table(const uint8_t* p) {
  return {_mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
OXBOW_INLINE U8x64 lookup(U8x64 a, U8x64 table) {
  return {_mm512_shuffle_epi8(table.v, a.v)};
}

// Shifts each byte's bits from place kFrom to place kTo; bits that cross a byte are for the caller to mask.
template <int kFrom, int kTo>
OXBOW_INLINE __m512i move_bits(__m512i a) {
  if constexpr (kFrom > kTo) return _mm512_srli_epi16(a, kFrom - kTo);
  if constexpr (kFrom < kTo) return _mm512_slli_epi16(a, kTo - kFrom);
  return a;
}
// a | (b & c)
OXBOW_INLINE U8x64 or_and(__m512i a, __m512i b, __m512i c) {
  return {_mm512_ternarylogic_epi32(a, b, c, 0xf8)};
}
template <int kBit>
OXBOW_INLINE U8x64 add_bit(U8x64 a, U8x64 plane) {
  return or_and(a.v, move_bits<kBit, 4>(plane.v), _mm512_set1_epi8(16));
}
template <int kIndex>
OXBOW_INLINE U8x64 add_crumbs(U8x64 a, U8x64 plane) {
  return or_and(a.v, move_bits<2 * kIndex, 4>(plane.v), _mm512_set1_epi8(48));
}

template <size_t kQuads, int kMaxCode>
OXBOW_INLINE I32x16 dot(I32x16 acc, const U8x64* w, const int8_t* x, size_t stride) {
  OXBOW_UNROLL
  for (size_t j = 0; j < kQuads; ++j) {
    int32_t quad;
    __builtin_memcpy(&quad, x + j * stride, sizeof(quad));
    acc.v = _mm512_dpbusd_epi32(acc.v, w[j].v, _mm512_set1_epi32(quad));
  }
  return acc;
}

OXBOW_ISA_END
