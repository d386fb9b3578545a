#pragma once
// Readers of the formats whose four-bit codes stand for the entries of a table; see matmul_formats.h for what
// a reader is. The table holds the entries with the offset added, so that they are unsigned codes again.

#include "kernels/body/matmul_formats.h"

OXBOW_ISA_BEGIN

OXBOW_INLINE void look_up(const uint8_t (&values)[16], U8x64 (&w)[8]) {
  const U8x64 table = make_table(values);
  OXBOW_UNROLL
  for (size_t v = 0; v < 8; ++v) w[v] = lookup(w[v], table);
}

// -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113
struct Iq4Codes {
  static constexpr int kOffset = 128;
  static constexpr int kMaxCode = 255;
  static constexpr uint8_t kValues[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                          129, 141, 153, 166, 181, 197, 217, 241};
  OXBOW_INLINE static void codes(const uint8_t* block, U8x64 (&w)[8]) {
    read_4_bits(block, w);
    look_up(kValues, w);
  }
};

struct IQ4_NL : IQ4_NLLayout, PairScales, Iq4Codes {};

struct IQ4_XS : IQ4_XSLayout, Iq4Codes {
  static constexpr int kGroups = 1;
  static constexpr bool kHasMin = false;
  template <int kBlock>
  OXBOW_INLINE static void scale(I32x16 low, I32x16 high, F32x16 d, UnitScales& out) {
    const I32x16 nibble = bit_and(shift_right<4 * kBlock>(low), broadcast_int(15));
    const I32x16 top = shift_left<4>(bit_and(shift_right<16 + 2 * kBlock>(high), broadcast_int(3)));
    store(out.scale[kBlock], mul(to_float(sub(add(nibble, top), broadcast_int(32))), d));
  }
  OXBOW_INLINE static void scales(const uint8_t* header, size_t, UnitScales& out, size_t) {
    const F32x16 d = load_halves(header);
    const I32x16 high = bits(load_bf16(reinterpret_cast<const uint16_t*>(header + 32)));  // in bits 16 to 31
    const I32x16 low = load_words32(header + 64);
    scale<0>(low, high, d, out);
    scale<1>(low, high, d, out);
    scale<2>(low, high, d, out);
    scale<3>(low, high, d, out);
    scale<4>(low, high, d, out);
    scale<5>(low, high, d, out);
    scale<6>(low, high, d, out);
    scale<7>(low, high, d, out);
  }
};

struct MXFP4 : MXFP4Layout {
  static constexpr int kGroups = 1;
  static constexpr bool kHasMin = false;
  static constexpr int kOffset = 12;
  static constexpr int kMaxCode = 31;
  // Twice 0 0.5 1 1.5 2 3 4 6 and their negatives.
  static constexpr uint8_t kValues[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};
  // 2^(e - 128) as a product of two powers, because some are subnormal.
  template <int kByte>
  OXBOW_INLINE static F32x16 power(I32x16 words) {
    const I32x16 e = bit_and(shift_right<8 * kByte>(words), broadcast_int(255));
    const I32x16 half = shift_right<1>(e);
    const I32x16 bias = broadcast_int(127 - 64);
    return mul(from_bits(shift_left<23>(add(half, bias))),
               from_bits(shift_left<23>(add(sub(e, half), bias))));
  }
  OXBOW_INLINE static void scales(const uint8_t* header, size_t, UnitScales& out, size_t group) {
    const I32x16 words = load_words32(header);
    store(out.scale[group], power<0>(words));
    store(out.scale[group + 1], power<1>(words));
    store(out.scale[group + 2], power<2>(words));
    store(out.scale[group + 3], power<3>(words));
  }
  OXBOW_INLINE static void codes(const uint8_t* block, U8x64 (&w)[8]) {
    read_4_bits(block, w);
    look_up(kValues, w);
  }
};

OXBOW_ISA_END
