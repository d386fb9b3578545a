#pragma once
// The inner loops of the quantised matrix product: panels times a tile of rows of activations.
//
// What one output y = W x is, for every tile size and instruction set (blocks ascending, groups of a block
// ascending):
//
//   dot  = sum over the columns of the group of (code - offset) * activation code, an exact integer
//
//   term = dot * scale                            first group, formats without mins
//   term = fma(dot, scale, min * sum)             first group, with mins; sum of the activation codes
//   term = fma(dot, scale, term)                  second group, without mins
//   term = fma(dot, scale, fma(min, sum, term))   second group, with mins
//
//   y    = fma(term, activation scale, y)         once per block, from y = 0

#include "kernels/body/matmul_pack.h"

OXBOW_ISA_BEGIN

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

// dots[p][t] = the dot of group g of a block for token t and the panel whose
// quads are w[p].
template <class Reader, size_t kPanels, size_t kTile>
OXBOW_INLINE void group_dots(const U8x64* const (&w)[kPanels], const uint8_t* x, size_t g,
                             I32x16 (&dots)[kPanels][kTile]) {
  constexpr size_t kQuads = 8 / Reader::kGroups;
  constexpr size_t kPreferred = kQuadsPerDot<Reader::kMaxCode>;
  constexpr size_t kStep = kPreferred < kQuads ? kPreferred : kQuads;
  OXBOW_UNROLL
  for (size_t t = 0; t < kTile; ++t) {
    const bool seeded = !Reader::kHasMin && kDotOffset<Reader> != 0;
    const I32x16 start = seeded ? broadcast_int_at(x + kTile * (32 + 4 * g) + 4 * t) : broadcast_int(0);
    OXBOW_UNROLL
    for (size_t p = 0; p < kPanels; ++p) dots[p][t] = start;
  }
  OXBOW_UNROLL
  for (size_t j = g * kQuads; j < (g + 1) * kQuads; j += kStep) {
    OXBOW_UNROLL
    for (size_t t = 0; t < kTile; ++t) {
      const int8_t* quads = reinterpret_cast<const int8_t*>(x) + 4 * (kTile * j + t);
      OXBOW_UNROLL
      for (size_t p = 0; p < kPanels; ++p) {
        dots[p][t] = dot<kStep, Reader::kMaxCode>(dots[p][t], w[p] + j, quads, 4 * kTile);
      }
    }
  }
}
// The term of a block after group g, see above. `words` are the tile's words of
// the group for one token.
template <class Reader>
OXBOW_INLINE F32x16 group_term(size_t g, I32x16 dot, F32x16 scale, F32x16 min, const uint8_t* word,
                               F32x16 term) {
  const F32x16 exact = to_float(dot);
  if constexpr (Reader::kHasMin) {
    const F32x16 sum = broadcast_at(word);
    return fma(exact, scale, g == 0 ? mul(min, sum) : fma(min, sum, term));
  } else {
    return g == 0 ? mul(exact, scale) : fma(exact, scale, term);
  }
}

// terms[p][t] of one block. scale[p] and min[p] are the block's groups in panel
// p.
template <class Reader, size_t kPanels, size_t kTile>
OXBOW_INLINE void block_terms(const U8x64* const (&w)[kPanels], const UnitScales* const (&scales)[kPanels],
                              size_t first_group, const uint8_t* x, F32x16 (&terms)[kPanels][kTile]) {
  OXBOW_UNROLL
  for (size_t g = 0; g < Reader::kGroups; ++g) {
    I32x16 dots[kPanels][kTile];
    group_dots<Reader>(w, x, g, dots);
    OXBOW_UNROLL
    for (size_t p = 0; p < kPanels; ++p) {
      const F32x16 scale = load(scales[p]->scale[first_group + g]);
      const F32x16 min = Reader::kHasMin ? load(scales[p]->min[first_group + g]) : scale;
      OXBOW_UNROLL
      for (size_t t = 0; t < kTile; ++t) {
        const uint8_t* word = x + kTile * (32 + 4 * g) + 4 * t;
        terms[p][t] = group_term<Reader>(g, dots[p][t], scale, min, word, terms[p][t]);
      }
    }
  }
}

inline constexpr size_t kPrefetchBytes = 4096;  // ahead of a stream
OXBOW_INLINE void prefetch(const uint8_t* p, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) __builtin_prefetch(p + i);
}

// Straight from the panel, each byte read once: for few tokens. `panel` stands
// at the start of a unit.
template <class Reader, size_t kTile>
[[gnu::noinline]] void multiply_panel(const uint8_t* panel, size_t blocks, const uint8_t* x,
                                      float (*out)[16]) {
  F32x16 sums[kTile];
  OXBOW_UNROLL
  for (size_t t = 0; t < kTile; ++t) sums[t] = load(out[t]);
  UnitScales scales;
  while (blocks > 0) {
    const size_t unit = blocks < Reader::kUnitBlocks ? blocks : Reader::kUnitBlocks;
    Reader::scales(panel, unit, scales, 0);
    panel += Reader::kHeaderBytes;
    for (size_t b = 0; b < unit; ++b) {
      // Unpacking leaves the processor too little room to run ahead to the next
      // lines by itself.
      if constexpr (Reader::kMaxCode < 255) prefetch(panel + kPrefetchBytes, Reader::kBlockBytes);
      U8x64 w[8];
      Reader::codes(panel, w);
      F32x16 terms[1][kTile];
      block_terms<Reader>({w}, {&scales}, b * Reader::kGroups, x, terms);
      OXBOW_UNROLL
      for (size_t t = 0; t < kTile; ++t) {
        const F32x16 scale = broadcast_at(x + kTile * (32 + 4 * Reader::kGroups) + 4 * t);
        sums[t] = fma(terms[0][t], scale, sums[t]);
      }
      panel += Reader::kBlockBytes;
      x += kTile * kTokenBlockBytes<Reader>;
    }
    blocks -= unit;
  }
  OXBOW_UNROLL
  for (size_t t = 0; t < kTile; ++t) store(out[t], sums[t]);
}

// A stretch of a panel with its scales as floats and its codes as bytes, shared
// by the tiles of many tokens.
inline constexpr size_t kUnpackedBlocks = 8;
struct alignas(64) UnpackedStretch {
  UnitScales scales;
  U8x64 codes[kUnpackedBlocks][8];
};

// Unpacks `blocks` <= kUnpackedBlocks blocks from the start of a unit on;
// returns where the next unit starts.
template <class Reader>
[[gnu::noinline]] const uint8_t* unpack(const uint8_t* panel, size_t blocks, UnpackedStretch& out) {
  for (size_t first = 0; first < blocks; first += Reader::kUnitBlocks) {
    const size_t unit = blocks - first < Reader::kUnitBlocks ? blocks - first : Reader::kUnitBlocks;
    Reader::scales(panel, unit, out.scales, first * Reader::kGroups);
    panel += Reader::kHeaderBytes;
    for (size_t b = 0; b < unit; ++b) {
      Reader::codes(panel, out.codes[first + b]);
      panel += Reader::kBlockBytes;
    }
  }
  return panel;
}

// kPanels stretches of neighbouring panels times one tile, so that each loaded
// activation serves them all. The sums stay in memory, out[p * out_stride + t]:
// the dots need the registers.
template <class Reader, size_t kPanels, size_t kTile>
[[gnu::noinline]] void multiply_stretch(const UnpackedStretch* stretches, size_t blocks, const uint8_t* x,
                                        float (*out)[16], size_t out_stride) {
  for (size_t b = 0; b < blocks; ++b) {
    const U8x64* w[kPanels];
    const UnitScales* scales[kPanels];
    OXBOW_UNROLL
    for (size_t p = 0; p < kPanels; ++p) {
      w[p] = stretches[p].codes[b];
      scales[p] = &stretches[p].scales;
    }
    F32x16 terms[kPanels][kTile];
    block_terms<Reader>(w, scales, b * Reader::kGroups, x, terms);
    OXBOW_UNROLL
    for (size_t p = 0; p < kPanels; ++p) {
      OXBOW_UNROLL
      for (size_t t = 0; t < kTile; ++t) {
        float* sum = out[p * out_stride + t];
        const F32x16 scale = broadcast_at(x + kTile * (32 + 4 * Reader::kGroups) + 4 * t);
        store(sum, fma(terms[p][t], scale, load(sum)));
      }
    }
    x += kTile * kTokenBlockBytes<Reader>;
  }
}

OXBOW_ISA_END
