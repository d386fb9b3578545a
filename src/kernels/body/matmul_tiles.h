#pragma once
// The inner loops of the quantised matrix product: one panel times a tile of up to kTileTokens rows of
// activations.
//
// What one output y = W x is, for every tile size and instruction set (blocks b ascending, groups g of a
// block ascending):
//
//   dot  = sum over the columns of the group of (code - offset) * activation code             exact integer
//   term = dot * scale                              first group, no constants
//        = fma(dot, scale, min * sum)               first group, with constants; sum = sum of the activation
//        codes = fma(dot, scale, term)                    second group, no constants = fma(dot, scale,
//        fma(min, sum, term))     second group, with constants
//   y    = fma(term, activation scale, y)           once per block, from y = 0
//
// A packed tile of T tokens holds, block by block: the codes [8 quads][T][4], then per group T words (with
// constants f32 sum; without, the i32 that takes the offset back: the dot starts from it), then T f32
// activation scales.

#include "kernels/body/matmul_formats.h"
#include "kernels/kernels.h"

OXBOW_ISA_BEGIN

template <class Reader>
inline constexpr size_t kTokenBlockBytes =
    32 + 4 * Reader::kGroups + 4;  // of one token and block in a packed tile

// What the dot's start value multiplies: signed dots have taken the offset of 8-bit codes back already.
template <class Reader>
inline constexpr int32_t kDotOffset = Reader::kMaxCode == 255 && kSignedBytes ? 0 : Reader::kOffset;

template <class Reader>
void pack_tile(const QuantizedRows& rows, size_t first_row, size_t count, size_t tile, size_t first_block,
               size_t blocks, uint8_t* packed) {
  __builtin_memset(packed, 0, blocks * tile * kTokenBlockBytes<Reader>);
  for (size_t t = 0; t < count; ++t) {
    const size_t row = first_row + t;
    const int8_t* codes = rows.codes + row * rows.code_stride + first_block * kActivationBlock;
    const float* scales = rows.scales + row * rows.block_stride + first_block;
    const int32_t* sums = rows.sums + 2 * (row * rows.block_stride + first_block);
    uint8_t* out = packed + 4 * t;
    for (size_t b = 0; b < blocks; ++b) {
      OXBOW_UNROLL
      for (size_t j = 0; j < 8; ++j) __builtin_memcpy(out + 4 * tile * j, codes + 32 * b + 4 * j, 4);
      out += 32 * tile;
      for (size_t g = 0; g < Reader::kGroups; ++g) {
        const int32_t sum = Reader::kGroups == 1 ? sums[2 * b] + sums[2 * b + 1] : sums[2 * b + g];
        if constexpr (Reader::kHasMin) {
          const float exact = static_cast<float>(sum);
          __builtin_memcpy(out, &exact, 4);
        } else {
          const int32_t start = -kDotOffset<Reader> * sum;
          __builtin_memcpy(out, &start, 4);
        }
        out += 4 * tile;
      }
      __builtin_memcpy(out, scales + b, 4);
      out += 4 * tile;
    }
  }
}

OXBOW_INLINE F32x16 broadcast_at(const uint8_t* p) {
  float value;
  __builtin_memcpy(&value, p, 4);
  return broadcast(value);
}
OXBOW_INLINE I32x16 broadcast_int_at(const uint8_t* p) {
  int32_t value;
  __builtin_memcpy(&value, p, 4);
  return broadcast_int(value);
}

// One block: sums[t] += the block's part of the outputs of token t. scale and min point at the block's
// groups.
template <class Reader, size_t kTile>
OXBOW_INLINE void multiply_block(const U8x64 (&w)[8], const float (*scale)[16], const float (*min)[16],
                                 const uint8_t* x, F32x16 (&sums)[kTile]) {
  constexpr size_t kGroupQuads = 8 / Reader::kGroups;
  constexpr size_t kStep =
      kQuadsPerDot<Reader::kMaxCode> < kGroupQuads ? kQuadsPerDot<Reader::kMaxCode> : kGroupQuads;
  F32x16 terms[kTile];
  OXBOW_UNROLL
  for (size_t g = 0; g < Reader::kGroups; ++g) {
    const uint8_t* words = x + kTile * (32 + 4 * g);
    I32x16 dots[kTile];
    OXBOW_UNROLL
    for (size_t t = 0; t < kTile; ++t) {
      dots[t] =
          Reader::kHasMin || kDotOffset<Reader> == 0 ? broadcast_int(0) : broadcast_int_at(words + 4 * t);
    }
    OXBOW_UNROLL
    for (size_t j = g * kGroupQuads; j < (g + 1) * kGroupQuads; j += kStep) {
      OXBOW_UNROLL
      for (size_t t = 0; t < kTile; ++t) {
        const int8_t* quads = reinterpret_cast<const int8_t*>(x) + 4 * (kTile * j + t);
        dots[t] = dot<kStep, Reader::kMaxCode>(dots[t], w + j, quads, 4 * kTile);
      }
    }
    const F32x16 group_scale = load(scale[g]);
    OXBOW_UNROLL
    for (size_t t = 0; t < kTile; ++t) {
      const F32x16 exact = to_float(dots[t]);
      if constexpr (Reader::kHasMin) {
        const F32x16 group_min = load(min[g]);
        const F32x16 sum = broadcast_at(words + 4 * t);
        terms[t] = g == 0 ? mul(group_min, sum) : fma(group_min, sum, terms[t]);
        terms[t] = fma(exact, group_scale, terms[t]);
      } else {
        terms[t] = g == 0 ? mul(exact, group_scale) : fma(exact, group_scale, terms[t]);
      }
    }
  }
  const uint8_t* scales = x + kTile * (32 + 4 * Reader::kGroups);
  OXBOW_UNROLL
  for (size_t t = 0; t < kTile; ++t) sums[t] = fma(terms[t], broadcast_at(scales + 4 * t), sums[t]);
}

template <size_t kTile>
OXBOW_INLINE void load_sums(const float (*from)[16], F32x16 (&sums)[kTile]) {
  OXBOW_UNROLL
  for (size_t t = 0; t < kTile; ++t) sums[t] = load(from[t]);
}
template <size_t kTile>
OXBOW_INLINE void store_sums(const F32x16 (&sums)[kTile], float (*to)[16]) {
  OXBOW_UNROLL
  for (size_t t = 0; t < kTile; ++t) store(to[t], sums[t]);
}

// Straight from the panel, read once: for few tokens. `panel` stands at the start of a unit.
template <class Reader, size_t kTile>
[[gnu::noinline]] void multiply_panel(const uint8_t* panel, size_t blocks, const uint8_t* x,
                                      float (*out)[16]) {
  F32x16 sums[kTile];
  load_sums(out, sums);
  UnitScales scales;
  while (blocks > 0) {
    const size_t unit = blocks < Reader::kUnitBlocks ? blocks : Reader::kUnitBlocks;
    Reader::scales(panel, unit, scales);
    panel += Reader::kHeaderBytes;
    for (size_t b = 0; b < unit; ++b) {
      U8x64 w[8];
      Reader::codes(panel, w);
      const size_t group = b * Reader::kGroups;
      multiply_block<Reader>(w, scales.scale + group, scales.min + group, x, sums);
      panel += Reader::kBlockBytes;
      x += kTile * kTokenBlockBytes<Reader>;
    }
    blocks -= unit;
  }
  store_sums(sums, out);
}

// A stretch of a panel with its scales as floats and its codes as bytes, shared by the tiles of many tokens.
inline constexpr size_t kUnpackedBlocks = 8;
struct alignas(64) UnpackedStretch {
  UnitScales scales;
  uint8_t codes[kUnpackedBlocks][8][64];
};

// Unpacks `blocks` <= kUnpackedBlocks blocks from the start of a unit on; returns where the next unit starts.
template <class Reader>
[[gnu::noinline]] const uint8_t* unpack(const uint8_t* panel, size_t blocks, UnpackedStretch& out) {
  for (size_t first = 0; first < blocks; first += Reader::kUnitBlocks) {
    const size_t unit = blocks - first < Reader::kUnitBlocks ? blocks - first : Reader::kUnitBlocks;
    UnitScales scales;
    Reader::scales(panel, unit, scales);
    const size_t groups = unit * Reader::kGroups;
    __builtin_memcpy(out.scales.scale + first * Reader::kGroups, scales.scale,
                     groups * sizeof(scales.scale[0]));
    if constexpr (Reader::kHasMin) {
      __builtin_memcpy(out.scales.min + first * Reader::kGroups, scales.min, groups * sizeof(scales.min[0]));
    }
    panel += Reader::kHeaderBytes;
    for (size_t b = 0; b < unit; ++b) {
      U8x64 w[8];
      Reader::codes(panel, w);
      OXBOW_UNROLL
      for (size_t v = 0; v < 8; ++v) store_codes(out.codes[first + b][v], w[v]);
      panel += Reader::kBlockBytes;
    }
  }
  return panel;
}

template <class Reader, size_t kTile>
[[gnu::noinline]] void multiply_stretch(const UnpackedStretch& stretch, size_t blocks, const uint8_t* x,
                                        float (*out)[16]) {
  F32x16 sums[kTile];
  load_sums(out, sums);
  for (size_t b = 0; b < blocks; ++b) {
    U8x64 w[8];
    OXBOW_UNROLL
    for (size_t v = 0; v < 8; ++v) w[v] = load_codes(stretch.codes[b][v]);
    const size_t group = b * Reader::kGroups;
    multiply_block<Reader>(w, stretch.scales.scale + group, stretch.scales.min + group, x, sums);
    x += kTile * kTokenBlockBytes<Reader>;
  }
  store_sums(sums, out);
}

OXBOW_ISA_END
