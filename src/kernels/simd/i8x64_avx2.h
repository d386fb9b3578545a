#pragma once
// U8x64 as two AVX2 registers. See i8x64.h for the contract.
//
// vpmaddubsw adds two products to a 16-bit lane and saturates. With codes up to 15, 31 or 63 and |x| <= 127,
// the lanes of 8, 4 or 2 quads still fit 16 bits. Codes of 8 bits are taken as signed, |w| <= 128, with their
// sign moved to x.

#include <immintrin.h>

OXBOW_ISA_BEGIN

struct U8x64 {
  __m256i lo;
  __m256i hi;
};

inline constexpr bool kSignedBytes = true;
template <int kMaxCode>
inline constexpr size_t kQuadsPerDot = kMaxCode <= 15   ? 8
                                       : kMaxCode <= 31 ? 4
                                       : kMaxCode <= 63 ? 2
                                                        : 1;
inline constexpr size_t kFewTokens = 4;
inline constexpr size_t kTilePanels = 1;
inline constexpr size_t kTileTokens = 4;

OXBOW_INLINE U8x64 load_codes(const uint8_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))};
}
OXBOW_INLINE void store_codes(uint8_t* p, U8x64 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.lo);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 32), a.hi);
}

// Bits from place kFrom on, moved to place kTo, under a mask of the result.
template <int kFrom, int kTo>
OXBOW_INLINE __m256i take_bits(__m256i a, int mask) {
  if constexpr (kFrom > kTo) a = _mm256_srli_epi16(a, kFrom - kTo);
  if constexpr (kFrom < kTo) a = _mm256_slli_epi16(a, kTo - kFrom);
  return _mm256_and_si256(a, _mm256_set1_epi8(static_cast<char>(mask)));
}
OXBOW_INLINE U8x64 low_nibbles(U8x64 a) {
  return {take_bits<0, 0>(a.lo, 15), take_bits<0, 0>(a.hi, 15)};
}
OXBOW_INLINE U8x64 high_nibbles(U8x64 a) {
  return {take_bits<4, 0>(a.lo, 15), take_bits<4, 0>(a.hi, 15)};
}
template <int kIndex>
OXBOW_INLINE U8x64 crumbs(U8x64 a) {
  return {take_bits<2 * kIndex, 0>(a.lo, 3), take_bits<2 * kIndex, 0>(a.hi, 3)};
}
OXBOW_INLINE U8x64 make_table(const uint8_t* p) {
  const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return {table, table};
}
OXBOW_INLINE U8x64 lookup(U8x64 a, U8x64 table) {
  return {_mm256_shuffle_epi8(table.lo, a.lo), _mm256_shuffle_epi8(table.hi, a.hi)};
}
template <int kBit>
OXBOW_INLINE U8x64 add_bit(U8x64 a, U8x64 plane) {
  return {_mm256_or_si256(a.lo, take_bits<kBit, 4>(plane.lo, 16)),
          _mm256_or_si256(a.hi, take_bits<kBit, 4>(plane.hi, 16))};
}
template <int kIndex>
OXBOW_INLINE U8x64 add_crumbs(U8x64 a, U8x64 plane) {
  return {_mm256_or_si256(a.lo, take_bits<2 * kIndex, 4>(plane.lo, 48)),
          _mm256_or_si256(a.hi, take_bits<2 * kIndex, 4>(plane.hi, 48))};
}

template <int kMaxCode>
OXBOW_INLINE __m256i pair_sums(__m256i w, __m256i x) {
  if constexpr (kMaxCode <= 63) return _mm256_maddubs_epi16(w, x);
  const __m256i code = _mm256_xor_si256(w, _mm256_set1_epi8(-128));
  return _mm256_maddubs_epi16(_mm256_abs_epi8(code), _mm256_sign_epi8(x, code));
}

template <size_t kQuads, int kMaxCode>
OXBOW_INLINE I32x16 dot(I32x16 acc, const U8x64* w, const int8_t* x, size_t stride) {
  static_assert(kQuads <= kQuadsPerDot<kMaxCode>, "16-bit sums would overflow");
  __m256i lo = _mm256_setzero_si256();
  __m256i hi = _mm256_setzero_si256();
  OXBOW_UNROLL
  for (size_t j = 0; j < kQuads; ++j) {
    int32_t quad;
    __builtin_memcpy(&quad, x + j * stride, sizeof(quad));
    const __m256i xs = _mm256_set1_epi32(quad);
    lo = _mm256_add_epi16(lo, pair_sums<kMaxCode>(w[j].lo, xs));
    hi = _mm256_add_epi16(hi, pair_sums<kMaxCode>(w[j].hi, xs));
  }
  const __m256i ones = _mm256_set1_epi16(1);
  return {_mm256_add_epi32(acc.lo, _mm256_madd_epi16(lo, ones)),
          _mm256_add_epi32(acc.hi, _mm256_madd_epi16(hi, ones))};
}

OXBOW_ISA_END
