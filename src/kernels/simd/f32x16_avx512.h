#pragma once
// F32x16 as one AVX-512 register. See f32x16.h for the contract.

#include <immintrin.h>

OXBOW_ISA_BEGIN

struct F32x16 {
  __m512 v;
};
struct I32x16 {
  __m512i v;
};
struct Mask16 {
  __mmask16 v;
};

inline constexpr size_t kVectorRegisters = 32;  // F32x16 values that fit in registers

OXBOW_INLINE F32x16 zero() {
  return {_mm512_setzero_ps()};
}
OXBOW_INLINE F32x16 broadcast(float x) {
  return {_mm512_set1_ps(x)};
}

OXBOW_INLINE Mask16 first_lanes(size_t n) {
  return {static_cast<__mmask16>((1U << n) - 1)};
}
OXBOW_INLINE Mask16 both(Mask16 a, Mask16 b) {
  return {static_cast<__mmask16>(a.v & b.v)};
}
OXBOW_INLINE Mask16 excluding(Mask16 a, Mask16 b) {
  return {static_cast<__mmask16>(a.v & ~b.v)};
}

OXBOW_INLINE F32x16 load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
OXBOW_INLINE void store(float* p, F32x16 a) {
  _mm512_storeu_ps(p, a.v);
}
OXBOW_INLINE F32x16 load_partial(const float* p, size_t n) {
  return {_mm512_maskz_loadu_ps(first_lanes(n).v, p)};
}
OXBOW_INLINE void store_partial(float* p, F32x16 a, size_t n) {
  _mm512_mask_storeu_ps(p, first_lanes(n).v, a.v);
}

OXBOW_INLINE F32x16 add(F32x16 a, F32x16 b) {
  return {_mm512_add_ps(a.v, b.v)};
}
OXBOW_INLINE F32x16 sub(F32x16 a, F32x16 b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
OXBOW_INLINE F32x16 mul(F32x16 a, F32x16 b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
OXBOW_INLINE F32x16 div(F32x16 a, F32x16 b) {
  return {_mm512_div_ps(a.v, b.v)};
}
OXBOW_INLINE F32x16 sqrt(F32x16 a) {
  return {_mm512_sqrt_ps(a.v)};
}
OXBOW_INLINE F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
OXBOW_INLINE F32x16 fnma(F32x16 a, F32x16 b, F32x16 c) {
  return {_mm512_fnmadd_ps(a.v, b.v, c.v)};
}
OXBOW_INLINE F32x16 min(F32x16 a, F32x16 b) {
  return {_mm512_min_ps(a.v, b.v)};
}
OXBOW_INLINE F32x16 max(F32x16 a, F32x16 b) {
  return {_mm512_max_ps(a.v, b.v)};
}

OXBOW_INLINE I32x16 bits(F32x16 a) {
  return {_mm512_castps_si512(a.v)};
}
OXBOW_INLINE F32x16 from_bits(I32x16 a) {
  return {_mm512_castsi512_ps(a.v)};
}
OXBOW_INLINE I32x16 broadcast_int(int32_t x) {
  return {_mm512_set1_epi32(x)};
}
OXBOW_INLINE I32x16 load_int(const int32_t* p) {
  return {_mm512_loadu_si512(p)};
}
OXBOW_INLINE void store_int(int32_t* p, I32x16 a) {
  _mm512_storeu_si512(p, a.v);
}
OXBOW_INLINE I32x16 add(I32x16 a, I32x16 b) {
  return {_mm512_add_epi32(a.v, b.v)};
}
OXBOW_INLINE I32x16 sub(I32x16 a, I32x16 b) {
  return {_mm512_sub_epi32(a.v, b.v)};
}
OXBOW_INLINE I32x16 bit_and(I32x16 a, I32x16 b) {
  return {_mm512_and_si512(a.v, b.v)};
}
template <int kCount>
OXBOW_INLINE I32x16 shift_left(I32x16 a) {
  return {_mm512_slli_epi32(a.v, kCount)};
}
template <int kCount>
OXBOW_INLINE I32x16 shift_right(I32x16 a) {
  return {_mm512_srai_epi32(a.v, kCount)};
}
OXBOW_INLINE I32x16 max(I32x16 a, I32x16 b) {
  return {_mm512_max_epi32(a.v, b.v)};
}
OXBOW_INLINE int32_t reduce_max(I32x16 a) {
  return _mm512_reduce_max_epi32(a.v);
}
OXBOW_INLINE int32_t reduce_add(I32x16 a) {
  return _mm512_reduce_add_epi32(a.v);
}
OXBOW_INLINE void store_bytes(int8_t* p, I32x16 a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a.v));
}
OXBOW_INLINE F32x16 to_float(I32x16 a) {
  return {_mm512_cvtepi32_ps(a.v)};
}
OXBOW_INLINE I32x16 nearest_int(F32x16 a) {
  return {_mm512_cvtps_epi32(a.v)};
}

OXBOW_INLINE F32x16 neg(F32x16 a) {
  return {_mm512_xor_ps(a.v, _mm512_set1_ps(-0.0f))};
}
OXBOW_INLINE F32x16 abs(F32x16 a) {
  return {_mm512_andnot_ps(_mm512_set1_ps(-0.0f), a.v)};
}

OXBOW_INLINE Mask16 less(F32x16 a, F32x16 b) {
  return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)};
}
OXBOW_INLINE Mask16 less_equal(F32x16 a, F32x16 b) {
  return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ)};
}
OXBOW_INLINE F32x16 select(Mask16 m, F32x16 a, F32x16 b) {
  return {_mm512_mask_blend_ps(m.v, b.v, a.v)};
}

OXBOW_INLINE F32x16 scale_by_power(F32x16 a, F32x16 n) {
  return {_mm512_scalef_ps(a.v, n.v)};
}

OXBOW_INLINE float first_lane(F32x16 a) {
  return _mm512_cvtss_f32(a.v);
}
OXBOW_INLINE __m256 low_half(F32x16 a) {
  return _mm512_castps512_ps256(a.v);
}
OXBOW_INLINE __m256 high_half(F32x16 a) {
  return _mm512_extractf32x8_ps(a.v, 1);
}
OXBOW_INLINE float reduce_add(F32x16 a) {
  const __m256 eight = _mm256_add_ps(low_half(a), high_half(a));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
OXBOW_INLINE float reduce_max(F32x16 a) {
  const __m256 eight = _mm256_max_ps(low_half(a), high_half(a));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

OXBOW_INLINE __m256i load_words(const uint16_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
OXBOW_INLINE __m256i load_words_partial(const uint16_t* p, size_t n) {
  return _mm256_maskz_loadu_epi16(first_lanes(n).v, p);
}
OXBOW_INLINE F32x16 widen_bf16(__m256i words) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16))};
}
OXBOW_INLINE __m256i narrow_bf16(F32x16 a) {
  const __m512i word = _mm512_castps_si512(a.v);
  const __m512i top = _mm512_srli_epi32(word, 16);
  const __m512i odd = _mm512_and_si512(top, _mm512_set1_epi32(1));
  const __m512i rounded =
      _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(word, _mm512_set1_epi32(0x7fff)), odd), 16);
  const __m512i quiet = _mm512_or_si512(top, _mm512_set1_epi32(0x40));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_mask_blend_epi32(is_nan, rounded, quiet));
}
inline constexpr int kNearestEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

OXBOW_INLINE F32x16 load_f16(const uint16_t* p) {
  return {_mm512_cvtph_ps(load_words(p))};
}
OXBOW_INLINE F32x16 load_f16_partial(const uint16_t* p, size_t n) {
  return {_mm512_cvtph_ps(load_words_partial(p, n))};
}
OXBOW_INLINE void store_f16(uint16_t* p, F32x16 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(a.v, kNearestEven));
}
OXBOW_INLINE void store_f16_partial(uint16_t* p, F32x16 a, size_t n) {
  _mm256_mask_storeu_epi16(p, first_lanes(n).v, _mm512_cvtps_ph(a.v, kNearestEven));
}
OXBOW_INLINE F32x16 load_bf16(const uint16_t* p) {
  return widen_bf16(load_words(p));
}
OXBOW_INLINE F32x16 load_bf16_partial(const uint16_t* p, size_t n) {
  return widen_bf16(load_words_partial(p, n));
}
OXBOW_INLINE void store_bf16(uint16_t* p, F32x16 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), narrow_bf16(a));
}
OXBOW_INLINE void store_bf16_partial(uint16_t* p, F32x16 a, size_t n) {
  _mm256_mask_storeu_epi16(p, first_lanes(n).v, narrow_bf16(a));
}

OXBOW_ISA_END
