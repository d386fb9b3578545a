#pragma once
// Activations to 8-bit codes, 32 values at a time.

#include "kernels/kernels.h"
#include "kernels/simd/f32x16.h"

OXBOW_ISA_BEGIN

inline constexpr float kSmallestQuantized =
    0x1p-100f;  // below it a block is taken for zeros: 127 / max must be finite

// The bits of max |x|: as integers they order like the magnitudes, with infinity and NaN on top.
OXBOW_INLINE uint32_t largest_magnitude_bits(F32x16 a, F32x16 b) {
  return static_cast<uint32_t>(reduce_max(max(bits(abs(a)), bits(abs(b)))));
}

OXBOW_INLINE int32_t store_half_block(F32x16 values, F32x16 inverse, int8_t* codes) {
  const I32x16 words = nearest_int(mul(values, inverse));
  store_bytes(codes, words);
  return reduce_add(words);
}

OXBOW_INLINE void quantize_block(const float* x, int8_t* codes, float* scale, int32_t* sums) {
  const F32x16 low = load(x);
  const F32x16 high = load(x + 16);
  const uint32_t largest_bits = largest_magnitude_bits(low, high);
  float largest;
  __builtin_memcpy(&largest, &largest_bits, sizeof(largest));
  if (largest_bits >= 0x7f800000U || largest < kSmallestQuantized) {
    // Codes of zero times a NaN scale carry what is not a number on to the product.
    *scale = largest_bits >= 0x7f800000U ? __builtin_nanf("") : 0.0f;
    __builtin_memset(codes, 0, 32);
    sums[0] = sums[1] = 0;
    return;
  }
  *scale = largest / 127.0f;
  const F32x16 inverse = broadcast(127.0f / largest);
  sums[0] = store_half_block(low, inverse, codes);
  sums[1] = store_half_block(high, inverse, codes + 16);
}

void quantize_rows(const float* values, size_t stride, size_t rows, size_t cols, const QuantizedRows& out) {
  for (size_t row = 0; row < rows; ++row) {
    for (size_t block = 0; block < cols / kActivationBlock; ++block) {
      quantize_block(values + row * stride + block * kActivationBlock,
                     out.codes + row * out.code_stride + block * kActivationBlock,
                     out.scales + row * out.block_stride + block,
                     out.sums + 2 * (row * out.block_stride + block));
    }
  }
}

OXBOW_ISA_END
