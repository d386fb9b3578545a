#pragma once
// What one instruction set can do at best. Included by isa/NAME_peaks.cpp and nowhere else.

#include "kernels/isa/peaks.h"
#include "kernels/simd/i8x64.h"

OXBOW_ISA_BEGIN

// Sums that hide the latency of a dot without leaving the registers.
#if defined(OXBOW_ISA_AVX512)
inline constexpr size_t kPeakSums = 12;
#else
inline constexpr size_t kPeakSums = 4;
#endif

// Ties a sum to its registers: compilers would otherwise copy it in every round.
OXBOW_INLINE void pin([[maybe_unused]] I32x16& a) {
#if defined(OXBOW_ISA_AVX512)
  asm volatile("" : "+v"(a.v));
#elif defined(OXBOW_ISA_AVX2)
  asm volatile("" : "+x"(a.lo), "+x"(a.hi));
#endif
}

OXBOW_ISA_END

namespace oxbow::kernels::OXBOW_ISA {

// As the inner loop of a matrix product, with nothing to load but activations that lie in the first cache.
uint64_t dot_products(size_t steps, int32_t* out) {
  constexpr size_t kQuads = kQuadsPerDot<15>;
  constexpr size_t kSums = kPeakSums;
  alignas(64) uint8_t codes[64 * kQuads];
  alignas(64) int8_t x[4 * kSums * kQuads];
  for (uint8_t& code : codes) code = 3;
  for (int8_t& value : x) value = 2;
  U8x64 w[kQuads];
  OXBOW_UNROLL
  for (size_t j = 0; j < kQuads; ++j) w[j] = load_codes(codes + 64 * j);
  I32x16 sums[kSums];
  OXBOW_UNROLL
  for (size_t t = 0; t < kSums; ++t) sums[t] = broadcast_int(0);
  const int8_t* values = x;
  for (size_t i = 0; i < steps; ++i) {
    asm volatile("" : "+r"(values) : : "memory");  // the values are read again
    OXBOW_UNROLL
    for (size_t t = 0; t < kSums; ++t) {
      sums[t] = dot<kQuads, 15>(sums[t], w, values + 4 * t, 4 * kSums);
      pin(sums[t]);
    }
  }
  I32x16 sum = sums[0];
  OXBOW_UNROLL
  for (size_t t = 1; t < kSums; ++t) sum = add(sum, sums[t]);
  store_int(out, sum);
  return uint64_t{2} * 64 * kSums * kQuads * steps;
}

uint64_t read_bytes(const std::byte* data, size_t size) {
  uint64_t sums[16] = {};
  for (size_t i = 0; i + 128 <= size; i += 128) {
    uint64_t words[16];
    __builtin_memcpy(words, data + i, 128);
    for (int j = 0; j < 16; ++j) sums[j] += words[j];
  }
  uint64_t sum = 0;
  for (size_t i = size / 128 * 128; i < size; ++i) sum += static_cast<uint64_t>(data[i]);
  for (int j = 0; j < 16; ++j) sum += sums[j];
  return sum;
}

}  // namespace oxbow::kernels::OXBOW_ISA
