#pragma once
// y = W x over panels. Tokens are taken in blocks whose packed activations stay in the L2 cache; a panel is
// read once per block of tokens.

#include "kernels/body/matmul_floats.h"
#include "kernels/body/matmul_tiles.h"

OXBOW_ISA_BEGIN

inline constexpr size_t kTokenBlock = 128;
// Up to so many tokens, tiles of kFewTokens read the panel one after the other: the second finds it in the
// cache. Unpacking it first would cost more than it saves, and waits for memory.
inline constexpr size_t kDirectTokens = 2 * kFewTokens;
inline constexpr size_t kPackedBytes = 352 * 1024;  // of activations, on the stack
static_assert(kTokenBlock % kTileTokens == 0);

OXBOW_INLINE size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

// Rows that exist in a panel.
OXBOW_INLINE size_t lanes_of(const PanelMatrix& w, size_t panel) {
  return smaller(kPanelRows, w.rows - panel * kPanelRows);
}

// The power of two that a tile of `tokens` is padded to.
OXBOW_INLINE size_t tile_size(size_t tokens, size_t largest) {
  size_t tile = 1;
  while (tile < tokens && tile < largest) tile *= 2;
  return tile;
}

// The float sums of a panel and a block of tokens between stretches: zeros at first, then what y holds.
OXBOW_INLINE void begin_sums(const float* y, size_t y_stride, size_t tokens, size_t lanes, bool first,
                             float (*sums)[16]) {
  for (size_t t = 0; t < tokens; ++t) {
    store(sums[t], first ? zero() : load_partial(y + t * y_stride, lanes));
  }
}
OXBOW_INLINE void end_sums(const float (*sums)[16], size_t tokens, size_t lanes, float* y, size_t y_stride) {
  for (size_t t = 0; t < tokens; ++t) store_partial(y + t * y_stride, load(sums[t]), lanes);
}

template <class Reader>
void panel_times_tile(size_t tile, const uint8_t* panel, size_t blocks, const uint8_t* x, float (*sums)[16]) {
  if constexpr (kFewTokens >= 8) {
    if (tile == 8) return multiply_panel<Reader, 8>(panel, blocks, x, sums);
  }
  if constexpr (kFewTokens >= 4) {
    if (tile == 4) return multiply_panel<Reader, 4>(panel, blocks, x, sums);
    if (tile == 2) return multiply_panel<Reader, 2>(panel, blocks, x, sums);
  }
  multiply_panel<Reader, 1>(panel, blocks, x, sums);
}

template <class Reader, size_t kPanels>
void stretch_times_tile(size_t tile, const UnpackedStretch* stretches, size_t blocks, const uint8_t* x,
                        float (*sums)[16]) {
  if constexpr (kTileTokens >= 4) {
    if (tile == 4) return multiply_stretch<Reader, kPanels, 4>(stretches, blocks, x, sums, kTokenBlock);
    if (tile == 2) return multiply_stretch<Reader, kPanels, 2>(stretches, blocks, x, sums, kTokenBlock);
  }
  multiply_stretch<Reader, kPanels, 1>(stretches, blocks, x, sums, kTokenBlock);
}

// Bytes from the panel's start to block `block`, the first of its unit.
template <class Reader>
OXBOW_INLINE constexpr size_t unit_offset(size_t block) {
  return block / Reader::kUnitBlocks * Reader::kHeaderBytes + block * Reader::kBlockBytes;
}

template <size_t kPanels>
OXBOW_INLINE void prefetch_outputs(const float* y) {
  for (size_t i = 0; i < kPanels; ++i) __builtin_prefetch(y + i * kPanelRows, 1);
}

// A block of tokens, packed stretch by stretch (of kUnpackedBlocks blocks), tile by tile: the order of use.
struct PackedTokens {
  const uint8_t* bytes;
  size_t tokens;
  size_t largest_tile;

  OXBOW_INLINE size_t tile(size_t token) const { return tile_size(tokens - token, largest_tile); }
};

// Tokens with the padding of the last tile.
OXBOW_INLINE size_t padded_tokens(size_t tokens, size_t largest_tile) {
  const size_t whole = tokens / largest_tile * largest_tile;
  return tokens == whole ? whole : whole + tile_size(tokens - whole, largest_tile);
}

template <class Reader>
void pack_tokens(const QuantizedRows& rows, size_t first_row, const PackedTokens& out, size_t first_block,
                 size_t blocks, uint8_t* packed) {
  const size_t step = out.tokens <= kDirectTokens ? blocks : kUnpackedBlocks;
  for (size_t b = 0; b < blocks; b += step) {
    const size_t count = smaller(step, blocks - b);
    for (size_t t = 0; t < out.tokens; t += out.largest_tile) {
      const size_t tile = out.tile(t);
      pack_tile<Reader>(rows, first_row + t, smaller(tile, out.tokens - t), tile, first_block + b, count,
                        packed);
      packed += count * tile * kTokenBlockBytes<Reader>;
    }
  }
}

// All tokens over `blocks` blocks of kPanels panels. Panel p stands at panel + p * panel_stride, its sums at
// sums[kTokenBlock * p + token].
template <class Reader, size_t kPanels>
void panels_times_tokens(const uint8_t* panel, size_t panel_stride, size_t blocks, const PackedTokens& x,
                         float (*sums)[16], float* y, size_t y_stride) {
  UnpackedStretch stretches[kPanels];
  const uint8_t* next[kPanels];
  for (size_t p = 0; p < kPanels; ++p) next[p] = panel + p * panel_stride;
  const uint8_t* packed = x.bytes;
  const size_t prefetch_step = unit_offset<Reader>(kUnpackedBlocks) * kTileTokens / x.tokens / 64 * 64 + 64;
  for (size_t first = 0; first < blocks; first += kUnpackedBlocks) {
    const size_t count = smaller(kUnpackedBlocks, blocks - first);
    for (size_t p = 0; p < kPanels; ++p) next[p] = unpack<Reader>(next[p], count, stretches[p]);
    for (size_t t = 0; t < x.tokens; t += kTileTokens) {
      for (size_t p = 0; p < kPanels; ++p) prefetch(next[p] + t / kTileTokens * prefetch_step, prefetch_step);
      const size_t tile = x.tile(t);
      if (first + kUnpackedBlocks >= blocks) {
        for (size_t i = t; i < t + tile && i < x.tokens; ++i) prefetch_outputs<kPanels>(y + i * y_stride);
      }
      stretch_times_tile<Reader, kPanels>(tile, stretches, count, packed, sums + t);
      packed += count * tile * kTokenBlockBytes<Reader>;
    }
  }
}

// kPanels panels from the start of a unit on; y points at their first output of the first token.
template <class Reader, size_t kPanels>
void multiply_panels(const PanelMatrix& w, size_t panel, size_t first_block, size_t blocks,
                     const PackedTokens& x, float* y, size_t y_stride) {
  alignas(64) float sums[kPanels * kTokenBlock][16];
  const uint8_t* bytes =
      reinterpret_cast<const uint8_t*>(w.panels) + panel * w.panel_stride + unit_offset<Reader>(first_block);
  for (size_t i = 0; i < kPanels; ++i) {
    begin_sums(y + i * kPanelRows, y_stride, x.tokens, lanes_of(w, panel + i), first_block == 0,
               sums + i * kTokenBlock);
  }
  if (x.tokens <= kDirectTokens) {
    const uint8_t* packed = x.bytes;
    for (size_t t = 0; t < x.tokens; t += x.largest_tile) {
      panel_times_tile<Reader>(x.tile(t), bytes, blocks, packed, sums + t);
      packed += blocks * x.tile(t) * kTokenBlockBytes<Reader>;
    }
  } else {
    panels_times_tokens<Reader, kPanels>(bytes, w.panel_stride, blocks, x, sums, y, y_stride);
  }
  for (size_t i = 0; i < kPanels; ++i) {
    end_sums(sums + i * kTokenBlock, x.tokens, lanes_of(w, panel + i), y + i * kPanelRows, y_stride);
  }
}

template <class Reader>
[[gnu::noinline]] void matmul_quantized(const PanelMatrix& w, const Activations& x, size_t panel_begin,
                                        size_t panel_end, float* y, size_t y_stride) {
  alignas(64) uint8_t bytes[kPackedBytes];
  const size_t all_blocks = w.cols / kActivationBlock;
  for (size_t t0 = 0; t0 < x.rows; t0 += kTokenBlock) {
    const size_t tokens = smaller(kTokenBlock, x.rows - t0);
    const PackedTokens packed = {bytes, tokens, tokens <= kDirectTokens ? kFewTokens : kTileTokens};
    const size_t block_bytes = padded_tokens(tokens, packed.largest_tile) * kTokenBlockBytes<Reader>;
    const size_t chunk = kPackedBytes / block_bytes / kUnpackedBlocks * kUnpackedBlocks;
    for (size_t b0 = 0; b0 < all_blocks; b0 += chunk) {
      const size_t blocks = smaller(chunk, all_blocks - b0);
      pack_tokens<Reader>(x.quantized, t0, packed, b0, blocks, bytes);
      size_t p = panel_begin;
      for (; tokens > kDirectTokens && p + kTilePanels <= panel_end; p += kTilePanels) {
        multiply_panels<Reader, kTilePanels>(w, p, b0, blocks, packed, y + t0 * y_stride + p * kPanelRows,
                                             y_stride);
      }
      for (; p < panel_end; ++p) {
        multiply_panels<Reader, 1>(w, p, b0, blocks, packed, y + t0 * y_stride + p * kPanelRows, y_stride);
      }
    }
  }
}

void matmul(const PanelMatrix& w, const Activations& x, size_t panel_begin, size_t panel_end, float* y,
            size_t y_stride) {
  switch (w.format) {
    case PanelFormat::kF32:
      return matmul_floats<F32Reader>(w, x, panel_begin, panel_end, y, y_stride);
    case PanelFormat::kF16:
      return matmul_floats<F16Reader>(w, x, panel_begin, panel_end, y, y_stride);
    case PanelFormat::kBF16:
      return matmul_floats<BF16Reader>(w, x, panel_begin, panel_end, y, y_stride);
    case PanelFormat::kQ8_0:
      return matmul_quantized<Q8_0>(w, x, panel_begin, panel_end, y, y_stride);
    case PanelFormat::kQ4_0:
      return matmul_quantized<Q4_0>(w, x, panel_begin, panel_end, y, y_stride);
    case PanelFormat::kQ4_1:
      return matmul_quantized<Q4_1>(w, x, panel_begin, panel_end, y, y_stride);
    case PanelFormat::kQ5_0:
      return matmul_quantized<Q5_0>(w, x, panel_begin, panel_end, y, y_stride);
    case PanelFormat::kQ5_1:
      return matmul_quantized<Q5_1>(w, x, panel_begin, panel_end, y, y_stride);
    case PanelFormat::kQ2_K:
      return matmul_quantized<Q2_K>(w, x, panel_begin, panel_end, y, y_stride);
    case PanelFormat::kQ4_K:
      return matmul_quantized<Q4_K>(w, x, panel_begin, panel_end, y, y_stride);
    case PanelFormat::kQ5_K:
      return matmul_quantized<Q5_K>(w, x, panel_begin, panel_end, y, y_stride);
    case PanelFormat::kQ6_K:
      return matmul_quantized<Q6_K>(w, x, panel_begin, panel_end, y, y_stride);
    case PanelFormat::kIQ4_NL:
      return matmul_quantized<IQ4_NL>(w, x, panel_begin, panel_end, y, y_stride);
    case PanelFormat::kIQ4_XS:
      return matmul_quantized<IQ4_XS>(w, x, panel_begin, panel_end, y, y_stride);
    case PanelFormat::kMXFP4:
      return matmul_quantized<MXFP4>(w, x, panel_begin, panel_end, y, y_stride);
  }
}

OXBOW_ISA_END
