#pragma once
// Activations to 8-bit codes, 32 values at a time.

#include "kernels/kernels.h"
#include "kernels/simd/f32x16.h"

OXBOW_ISA_BEGIN

inline constexpr float kSmallestQuantized =
    0x1p-100f;  // below it a block is taken for zeros: 127 / max must be finite

// The bits of max |x|: as integers they order like the magnitudes, with infinity and NaN on top.
OXBOW_INLINE uint32_t largest_magnitude_bits(const float* x) {
  uint32_t largest = 0;
  for (size_t i = 0; i < 32; ++i) {
    uint32_t word;
    __builtin_memcpy(&word, x + i, sizeof(word));
    word &= 0x7fffffffU;
    largest = word > largest ? word : largest;
  }
  return largest;
}

OXBOW_INLINE int32_t store_half_block(F32x16 values, F32x16 inverse, int8_t* codes) {
  int32_t words[16];
  store_int(words, nearest_int(mul(values, inverse)));
  int32_t sum = 0;
  for (size_t i = 0; i < 16; ++i) {
    codes[i] = static_cast<int8_t>(words[i]);
    sum += words[i];
  }
  return sum;
}

OXBOW_INLINE void quantize_block(const float* x, int8_t* codes, float* scale, int32_t* sums) {
  const uint32_t largest_bits = largest_magnitude_bits(x);
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
  sums[0] = store_half_block(load(x), inverse, codes);
  sums[1] = store_half_block(load(x + 16), inverse, codes + 16);
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
