#pragma once
// How the kernels read each quantised panel format: scales of a unit to floats, planes of a block to codes.
//
// Each reader has
//   kGroups      groups of columns with a scale of their own in a block of 32: 1 or 2
//   kOffset      what is subtracted from every code
//   kHasMin      whether a constant is added to every weight of a group
//   kMaxCode     largest code
//   scales(header, blocks, out, group)   scales, and constants when kHasMin, of a unit's groups from `group`
//   on codes(block, w)               the 8 quads

#include "kernels/body/panel_formats.h"
#include "kernels/simd/i8x64.h"

OXBOW_ISA_BEGIN

// Of one unit, group by group: weight = scale * (code - kOffset) + min.
struct alignas(64) UnitScales {
  float scale[16][16];
  float min[16][16];
};

// ---- planes
// -----------------------------------------------------------------------------------------------------

OXBOW_INLINE void read_4_bits(const uint8_t* plane, U8x64 (&w)[8]) {
  OXBOW_UNROLL
  for (size_t v = 0; v < 4; ++v) {
    const U8x64 both = load_codes(plane + 64 * v);
    w[v] = low_nibbles(both);
    w[v + 4] = high_nibbles(both);
  }
}

OXBOW_INLINE void read_fifth_bit(const uint8_t* plane, U8x64 (&w)[8]) {
  const U8x64 bits = load_codes(plane);
  w[0] = add_bit<0>(w[0], bits);
  w[1] = add_bit<1>(w[1], bits);
  w[2] = add_bit<2>(w[2], bits);
  w[3] = add_bit<3>(w[3], bits);
  w[4] = add_bit<4>(w[4], bits);
  w[5] = add_bit<5>(w[5], bits);
  w[6] = add_bit<6>(w[6], bits);
  w[7] = add_bit<7>(w[7], bits);
}

OXBOW_INLINE void read_sixth_bits(const uint8_t* plane, U8x64 (&w)[8]) {
  const U8x64 low = load_codes(plane);
  const U8x64 high = load_codes(plane + 64);
  w[0] = add_crumbs<0>(w[0], low);
  w[1] = add_crumbs<1>(w[1], low);
  w[2] = add_crumbs<2>(w[2], low);
  w[3] = add_crumbs<3>(w[3], low);
  w[4] = add_crumbs<0>(w[4], high);
  w[5] = add_crumbs<1>(w[5], high);
  w[6] = add_crumbs<2>(w[6], high);
  w[7] = add_crumbs<3>(w[7], high);
}

// ---- headers
// ----------------------------------------------------------------------------------------------------

OXBOW_INLINE F32x16 load_halves(const uint8_t* p) {
  return load_f16(reinterpret_cast<const uint16_t*>(p));
}
OXBOW_INLINE I32x16 load_words32(const uint8_t* p) {
  return load_int(reinterpret_cast<const int32_t*>(p));
}

template <int kByte>
OXBOW_INLINE F32x16 unsigned_byte(I32x16 words, int mask = 255) {
  return to_float(bit_and(shift_right<8 * kByte>(words), broadcast_int(mask)));
}
template <int kByte>
OXBOW_INLINE F32x16 signed_byte(I32x16 words) {
  return to_float(shift_right<24>(shift_left<24 - 8 * kByte>(words)));
}

// Four groups: out[j] = factor * byte j.
OXBOW_INLINE void scale_unsigned_bytes(I32x16 words, int mask, F32x16 factor, float (*out)[16]) {
  store(out[0], mul(unsigned_byte<0>(words, mask), factor));
  store(out[1], mul(unsigned_byte<1>(words, mask), factor));
  store(out[2], mul(unsigned_byte<2>(words, mask), factor));
  store(out[3], mul(unsigned_byte<3>(words, mask), factor));
}

OXBOW_INLINE void six_bit_scales(const uint8_t* header, UnitScales& out) {
  const F32x16 d = load_halves(header);
  const F32x16 minus_dmin = neg(load_halves(header + 32));
  const I32x16 a = load_words32(header + 64);
  const I32x16 b = load_words32(header + 128);
  const I32x16 c = load_words32(header + 192);
  scale_unsigned_bytes(a, 63, d, out.scale);
  scale_unsigned_bytes(b, 63, d, out.scale + 4);
  scale_unsigned_bytes(c, 63, minus_dmin, out.min);
  const I32x16 top = add(add(bit_and(shift_right<6>(a), broadcast_int(0x03030303)),
                             bit_and(shift_right<4>(b), broadcast_int(0x0c0c0c0c))),
                         bit_and(shift_right<2>(c), broadcast_int(0x30303030)));
  scale_unsigned_bytes(top, 63, minus_dmin, out.min + 4);
}

// ---- readers
// ----------------------------------------------------------------------------------------------------

struct PairScales {
  static constexpr int kGroups = 1;
  static constexpr bool kHasMin = false;
  OXBOW_INLINE static void scales(const uint8_t* header, size_t blocks, UnitScales& out, size_t group) {
    store(out.scale[group], load_halves(header));
    if (blocks > 1) store(out.scale[group + 1], load_halves(header + 32));
  }
};

struct SingleScales {
  static constexpr int kGroups = 1;
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  OXBOW_INLINE static void scales(const uint8_t* header, size_t, UnitScales& out, size_t group) {
    store(out.scale[group], load_halves(header));
    store(out.min[group], load_halves(header + 32));
  }
};

struct SixBitScales {
  static constexpr int kGroups = 1;
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  OXBOW_INLINE static void scales(const uint8_t* header, size_t, UnitScales& out, size_t) {
    six_bit_scales(header, out);
  }
};

struct FourBits {
  static constexpr int kMaxCode = 15;
  OXBOW_INLINE static void codes(const uint8_t* block, U8x64 (&w)[8]) { read_4_bits(block, w); }
};

struct FiveBits {
  static constexpr int kMaxCode = 31;
  OXBOW_INLINE static void codes(const uint8_t* block, U8x64 (&w)[8]) {
    read_4_bits(block, w);
    read_fifth_bit(block + 256, w);
  }
};

struct Q4_0 : Q4_0Layout, PairScales, FourBits {
  static constexpr int kOffset = 8;
};
struct Q5_0 : Q5_0Layout, PairScales, FiveBits {
  static constexpr int kOffset = 16;
};
struct Q4_1 : Q4_1Layout, SingleScales, FourBits {};
struct Q5_1 : Q5_1Layout, SingleScales, FiveBits {};
struct Q4_K : Q4_KLayout, SixBitScales, FourBits {};
struct Q5_K : Q5_KLayout, SixBitScales, FiveBits {};

struct Q8_0 : Q8_0Layout, PairScales {
  static constexpr int kOffset = 128;
  static constexpr int kMaxCode = 255;
  OXBOW_INLINE static void codes(const uint8_t* block, U8x64 (&w)[8]) {
    OXBOW_UNROLL
    for (size_t v = 0; v < 8; ++v) w[v] = load_codes(block + 64 * v);
  }
};

struct Q6_K : Q6_KLayout {
  static constexpr int kGroups = 2;
  static constexpr int kOffset = 32;
  static constexpr bool kHasMin = false;
  static constexpr int kMaxCode = 63;
  OXBOW_INLINE static void scales(const uint8_t* header, size_t, UnitScales& out, size_t) {
    const F32x16 d = load(reinterpret_cast<const float*>(header));
    OXBOW_UNROLL
    for (size_t i = 0; i < 4; ++i) {
      const I32x16 words = load_words32(header + 64 + 64 * i);
      store(out.scale[4 * i], mul(signed_byte<0>(words), d));
      store(out.scale[4 * i + 1], mul(signed_byte<1>(words), d));
      store(out.scale[4 * i + 2], mul(signed_byte<2>(words), d));
      store(out.scale[4 * i + 3], mul(signed_byte<3>(words), d));
    }
  }
  OXBOW_INLINE static void codes(const uint8_t* block, U8x64 (&w)[8]) {
    read_4_bits(block, w);
    read_sixth_bits(block + 256, w);
  }
};

struct Q2_K : Q2_KLayout {
  static constexpr int kGroups = 2;
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  static constexpr int kMaxCode = 3;
  OXBOW_INLINE static void scales(const uint8_t* header, size_t, UnitScales& out, size_t) {
    const F32x16 d = load_halves(header);
    const F32x16 minus_dmin = neg(load_halves(header + 32));
    OXBOW_UNROLL
    for (size_t i = 0; i < 4; ++i) {
      const I32x16 words = load_words32(header + 64 + 64 * i);
      scale_unsigned_bytes(words, 15, d, out.scale + 4 * i);
      scale_unsigned_bytes(shift_right<4>(words), 15, minus_dmin, out.min + 4 * i);
    }
  }
  OXBOW_INLINE static void codes(const uint8_t* block, U8x64 (&w)[8]) {
    OXBOW_UNROLL
    for (size_t h = 0; h < 2; ++h) {
      const U8x64 plane = load_codes(block + 64 * h);
      w[4 * h] = crumbs<0>(plane);
      w[4 * h + 1] = crumbs<1>(plane);
      w[4 * h + 2] = crumbs<2>(plane);
      w[4 * h + 3] = crumbs<3>(plane);
    }
  }
};

OXBOW_ISA_END
