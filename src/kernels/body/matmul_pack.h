#pragma once
// Activations in the order in which the inner loops of the quantised product
// read them.
//
// A packed tile of T tokens holds, block by block: the codes [8 quads][T][4],
// then per group T words (with mins the f32 sum; without, the i32 that takes
// the offset back: the dot starts from it), then T f32 activation scales.

#include "kernels/body/matmul_codebooks.h"
#include "kernels/kernels.h"

OXBOW_ISA_BEGIN

template <class Reader>
inline constexpr size_t kTokenBlockBytes =
    32 + 4 * Reader::kGroups + 4;  // of one token and block in a packed tile

// What the dot's start value multiplies: signed dots have taken the offset of
// 8-bit codes back already.
template <class Reader>
inline constexpr int32_t kDotOffset = Reader::kMaxCode == 255 && kSignedBytes ? 0 : Reader::kOffset;

typedef int32_t Quads4 __attribute__((vector_size(16)));

OXBOW_INLINE Quads4 load_quads(const int8_t* p) {
  Quads4 quads;
  __builtin_memcpy(&quads, p, sizeof(quads));
  return quads;
}
OXBOW_INLINE void store_quads(uint8_t* p, Quads4 quads) {
  __builtin_memcpy(p, &quads, sizeof(quads));
}

// Where the rows of the activations of one token and block lie.
struct BlockSource {
  const int8_t* codes;
  const float* scale;
  const int32_t* sums;
};

OXBOW_INLINE BlockSource block_source(const QuantizedRows& rows, size_t row, size_t block) {
  const size_t index = row * rows.block_stride + block;
  return {rows.codes + row * rows.code_stride + block * kActivationBlock, rows.scales + index,
          rows.sums + 2 * index};
}

// The word of group g.
template <class Reader>
OXBOW_INLINE int32_t group_word(const int32_t* sums, size_t g) {
  const int32_t sum = Reader::kGroups == 1 ? sums[0] + sums[1] : sums[g];
  if constexpr (!Reader::kHasMin) return -kDotOffset<Reader> * sum;
  const float exact = static_cast<float>(sum);
  int32_t word;
  __builtin_memcpy(&word, &exact, sizeof(word));
  return word;
}

template <class Reader>
OXBOW_INLINE void pack_token(const BlockSource& from, size_t tile, uint8_t* out) {
  if (tile == 1) {
    __builtin_memcpy(out, from.codes, 32);
  } else {
    OXBOW_UNROLL
    for (size_t j = 0; j < 8; ++j) __builtin_memcpy(out + 4 * tile * j, from.codes + 4 * j, 4);
  }
  out += 32 * tile;
  OXBOW_UNROLL
  for (size_t g = 0; g < Reader::kGroups; ++g) {
    const int32_t word = group_word<Reader>(from.sums, g);
    __builtin_memcpy(out + 4 * tile * g, &word, 4);
  }
  __builtin_memcpy(out + 4 * tile * Reader::kGroups, from.scale, 4);
}

// Four tokens at once: stores of 16 bytes instead of 4, which packing is bound
// by.
template <class Reader>
OXBOW_INLINE void pack_four_tokens(const BlockSource (&from)[4], size_t tile, uint8_t* out) {
  OXBOW_UNROLL
  for (size_t half = 0; half < 2; ++half) {
    const Quads4 a = load_quads(from[0].codes + 16 * half);
    const Quads4 b = load_quads(from[1].codes + 16 * half);
    const Quads4 c = load_quads(from[2].codes + 16 * half);
    const Quads4 d = load_quads(from[3].codes + 16 * half);
    const Quads4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const Quads4 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const Quads4 cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const Quads4 cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    uint8_t* quads = out + 16 * tile * half;
    store_quads(quads, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
    store_quads(quads + 4 * tile, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
    store_quads(quads + 8 * tile, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
    store_quads(quads + 12 * tile, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
  }
  out += 32 * tile;
  OXBOW_UNROLL
  for (size_t g = 0; g < Reader::kGroups; ++g) {
    store_quads(out, Quads4{group_word<Reader>(from[0].sums, g), group_word<Reader>(from[1].sums, g),
                            group_word<Reader>(from[2].sums, g), group_word<Reader>(from[3].sums, g)});
    out += 4 * tile;
  }
  const float scales[4] = {*from[0].scale, *from[1].scale, *from[2].scale, *from[3].scale};
  __builtin_memcpy(out, scales, sizeof(scales));
}

// `count` rows from first_row on into a tile of `tile` tokens; what is missing
// becomes zeros.
template <class Reader>
void pack_tile(const QuantizedRows& rows, size_t first_row, size_t count, size_t tile, size_t first_block,
               size_t blocks, uint8_t* packed) {
  const size_t bytes = tile * kTokenBlockBytes<Reader>;
  if (tile == 1) {
    for (size_t b = 0; b < blocks; ++b) {
      pack_token<Reader>(block_source(rows, first_row, first_block + b), 1, packed + b * bytes);
    }
    return;
  }
  if (count < tile) __builtin_memset(packed, 0, blocks * bytes);
  for (size_t b = 0; b < blocks; ++b) {
    uint8_t* out = packed + b * bytes;
    size_t t = 0;
    for (; t + 4 <= count; t += 4) {
      BlockSource from[4];
      OXBOW_UNROLL
      for (size_t i = 0; i < 4; ++i) from[i] = block_source(rows, first_row + t + i, first_block + b);
      pack_four_tokens<Reader>(from, tile, out + 4 * t);
    }
    for (; t < count; ++t) {
      pack_token<Reader>(block_source(rows, first_row + t, first_block + b), tile, out + 4 * t);
    }
  }
}

OXBOW_ISA_END
