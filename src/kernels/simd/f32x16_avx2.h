#pragma once
// F32x16 as two AVX2 registers. See f32x16.h for the contract.

#include <immintrin.h>

OXBOW_ISA_BEGIN

struct F32x16 {
  __m256 lo;
  __m256 hi;
};
struct I32x16 {
  __m256i lo;
  __m256i hi;
};
struct Mask16 {
  __m256 lo;  // all ones or all zeros per lane
  __m256 hi;
};

inline constexpr size_t kVectorRegisters = 8;  // F32x16 values that fit in registers

OXBOW_INLINE F32x16 zero() {
  return {_mm256_setzero_ps(), _mm256_setzero_ps()};
}
OXBOW_INLINE F32x16 broadcast(float x) {
  const __m256 v = _mm256_set1_ps(x);
  return {v, v};
}

alignas(64) constexpr int32_t kLaneMask[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                               0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0};
OXBOW_INLINE __m256i lane_mask(size_t first) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kLaneMask + first));
}
OXBOW_INLINE Mask16 first_lanes(size_t n) {
  return {_mm256_castsi256_ps(lane_mask(16 - n)), _mm256_castsi256_ps(lane_mask(24 - n))};
}
OXBOW_INLINE Mask16 both(Mask16 a, Mask16 b) {
  return {_mm256_and_ps(a.lo, b.lo), _mm256_and_ps(a.hi, b.hi)};
}
OXBOW_INLINE Mask16 excluding(Mask16 a, Mask16 b) {
  return {_mm256_andnot_ps(b.lo, a.lo), _mm256_andnot_ps(b.hi, a.hi)};
}

OXBOW_INLINE F32x16 load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
OXBOW_INLINE void store(float* p, F32x16 a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
// Lanes that are masked out are not read or written, so p + 8 may lie beyond the end.
OXBOW_INLINE F32x16 load_partial(const float* p, size_t n) {
  return {_mm256_maskload_ps(p, lane_mask(16 - n)), _mm256_maskload_ps(p + 8, lane_mask(24 - n))};
}
OXBOW_INLINE void store_partial(float* p, F32x16 a, size_t n) {
  _mm256_maskstore_ps(p, lane_mask(16 - n), a.lo);
  _mm256_maskstore_ps(p + 8, lane_mask(24 - n), a.hi);
}

OXBOW_INLINE F32x16 add(F32x16 a, F32x16 b) {
  return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}
OXBOW_INLINE F32x16 sub(F32x16 a, F32x16 b) {
  return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}
OXBOW_INLINE F32x16 mul(F32x16 a, F32x16 b) {
  return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
OXBOW_INLINE F32x16 div(F32x16 a, F32x16 b) {
  return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}
OXBOW_INLINE F32x16 sqrt(F32x16 a) {
  return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)};
}
OXBOW_INLINE F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
OXBOW_INLINE F32x16 fnma(F32x16 a, F32x16 b, F32x16 c) {
  return {_mm256_fnmadd_ps(a.lo, b.lo, c.lo), _mm256_fnmadd_ps(a.hi, b.hi, c.hi)};
}
OXBOW_INLINE F32x16 min(F32x16 a, F32x16 b) {
  return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
}
OXBOW_INLINE F32x16 max(F32x16 a, F32x16 b) {
  return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}

OXBOW_INLINE I32x16 bits(F32x16 a) {
  return {_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)};
}
OXBOW_INLINE F32x16 from_bits(I32x16 a) {
  return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)};
}
OXBOW_INLINE I32x16 broadcast_int(int32_t x) {
  const __m256i v = _mm256_set1_epi32(x);
  return {v, v};
}
OXBOW_INLINE I32x16 load_int(const int32_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
}
OXBOW_INLINE void store_int(int32_t* p, I32x16 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.lo);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), a.hi);
}
OXBOW_INLINE I32x16 add(I32x16 a, I32x16 b) {
  return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
OXBOW_INLINE I32x16 sub(I32x16 a, I32x16 b) {
  return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)};
}
OXBOW_INLINE I32x16 bit_and(I32x16 a, I32x16 b) {
  return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
}
template <int kCount>
OXBOW_INLINE I32x16 shift_left(I32x16 a) {
  return {_mm256_slli_epi32(a.lo, kCount), _mm256_slli_epi32(a.hi, kCount)};
}
template <int kCount>
OXBOW_INLINE I32x16 shift_right(I32x16 a) {
  return {_mm256_srai_epi32(a.lo, kCount), _mm256_srai_epi32(a.hi, kCount)};
}
OXBOW_INLINE I32x16 max(I32x16 a, I32x16 b) {
  return {_mm256_max_epi32(a.lo, b.lo), _mm256_max_epi32(a.hi, b.hi)};
}
OXBOW_INLINE int32_t reduce_max(I32x16 a) {
  const __m256i eight = _mm256_max_epi32(a.lo, a.hi);
  __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}
OXBOW_INLINE int32_t reduce_add(I32x16 a) {
  const __m256i eight = _mm256_add_epi32(a.lo, a.hi);
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}
OXBOW_INLINE void store_bytes(int8_t* p, I32x16 a) {
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.lo, a.hi), 0xd8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
OXBOW_INLINE F32x16 to_float(I32x16 a) {
  return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)};
}
OXBOW_INLINE I32x16 nearest_int(F32x16 a) {
  return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)};
}

OXBOW_INLINE F32x16 neg(F32x16 a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_xor_ps(a.lo, sign), _mm256_xor_ps(a.hi, sign)};
}
OXBOW_INLINE F32x16 abs(F32x16 a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi)};
}

OXBOW_INLINE Mask16 less(F32x16 a, F32x16 b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)};
}
OXBOW_INLINE Mask16 less_equal(F32x16 a, F32x16 b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LE_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LE_OQ)};
}
OXBOW_INLINE F32x16 select(Mask16 m, F32x16 a, F32x16 b) {
  return {_mm256_blendv_ps(b.lo, a.lo, m.lo), _mm256_blendv_ps(b.hi, a.hi, m.hi)};
}

// Two exact powers of two; only the second product can round.
OXBOW_INLINE F32x16 scale_by_power(F32x16 a, F32x16 n) {
  const I32x16 whole = nearest_int(n);
  const I32x16 half = shift_right<1>(whole);
  const I32x16 bias = broadcast_int(127);
  const F32x16 first = from_bits(shift_left<23>(add(half, bias)));
  const F32x16 second = from_bits(shift_left<23>(add(sub(whole, half), bias)));
  return mul(mul(a, first), second);
}

OXBOW_INLINE float first_lane(F32x16 a) {
  return _mm256_cvtss_f32(a.lo);
}
OXBOW_INLINE float reduce_add(F32x16 a) {
  const __m256 eight = _mm256_add_ps(a.lo, a.hi);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
OXBOW_INLINE float reduce_max(F32x16 a) {
  const __m256 eight = _mm256_max_ps(a.lo, a.hi);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

OXBOW_INLINE __m128i load_words(const uint16_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
OXBOW_INLINE void store_words(uint16_t* p, __m128i words) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), words);
}
OXBOW_INLINE __m256 widen_bf16(__m128i words) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
}
OXBOW_INLINE __m128i narrow_bf16(__m256 a) {
  const __m256i word = _mm256_castps_si256(a);
  const __m256i top = _mm256_srli_epi32(word, 16);
  const __m256i odd = _mm256_and_si256(top, _mm256_set1_epi32(1));
  const __m256i rounded =
      _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(word, _mm256_set1_epi32(0x7fff)), odd), 16);
  const __m256i quiet = _mm256_or_si256(top, _mm256_set1_epi32(0x40));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
  const __m256i result = _mm256_blendv_epi8(rounded, quiet, is_nan);
  return _mm_packus_epi32(_mm256_castsi256_si128(result), _mm256_extracti128_si256(result, 1));
}
inline constexpr int kNearestEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

OXBOW_INLINE F32x16 load_f16(const uint16_t* p) {
  return {_mm256_cvtph_ps(load_words(p)), _mm256_cvtph_ps(load_words(p + 8))};
}
OXBOW_INLINE void store_f16(uint16_t* p, F32x16 a) {
  store_words(p, _mm256_cvtps_ph(a.lo, kNearestEven));
  store_words(p + 8, _mm256_cvtps_ph(a.hi, kNearestEven));
}
OXBOW_INLINE F32x16 load_bf16(const uint16_t* p) {
  return {widen_bf16(load_words(p)), widen_bf16(load_words(p + 8))};
}
OXBOW_INLINE void store_bf16(uint16_t* p, F32x16 a) {
  store_words(p, narrow_bf16(a.lo));
  store_words(p + 8, narrow_bf16(a.hi));
}

// There is no masked load of 16-bit words: partial vectors go through a buffer.
OXBOW_INLINE F32x16 load_f16_partial(const uint16_t* p, size_t n) {
  uint16_t words[16] = {};
  for (size_t i = 0; i < n; ++i) words[i] = p[i];
  return load_f16(words);
}
OXBOW_INLINE void store_f16_partial(uint16_t* p, F32x16 a, size_t n) {
  uint16_t words[16];
  store_f16(words, a);
  for (size_t i = 0; i < n; ++i) p[i] = words[i];
}
OXBOW_INLINE F32x16 load_bf16_partial(const uint16_t* p, size_t n) {
  uint16_t words[16] = {};
  for (size_t i = 0; i < n; ++i) words[i] = p[i];
  return load_bf16(words);
}
OXBOW_INLINE void store_bf16_partial(uint16_t* p, F32x16 a, size_t n) {
  uint16_t words[16];
  store_bf16(words, a);
  for (size_t i = 0; i < n; ++i) p[i] = words[i];
}

OXBOW_ISA_END
