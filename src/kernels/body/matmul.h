#pragma once
// y = W x over panels. Tokens are taken in blocks whose packed activations stay in the L2 cache; a panel is
// read once per block of tokens.

#include "kernels/body/matmul_floats.h"
#include "kernels/body/matmul_tiles.h"

OXBOW_ISA_BEGIN

inline constexpr size_t kTokenBlock = 64;
inline constexpr size_t kPackedBytes = 160 * 1024;  // of activations, on the stack
static_assert(kTokenBlock % kTileTokens == 0);

OXBOW_INLINE size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

// The tile that `tokens` are padded to: a power of two.
OXBOW_INLINE size_t tile_size(size_t tokens) {
  size_t tile = 1;
  while (tile < tokens && tile < kTileTokens) tile *= 2;
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
  if (tile == 1) return multiply_panel<Reader, 1>(panel, blocks, x, sums);
  if constexpr (kTileTokens >= 2) {
    if (tile == 2) return multiply_panel<Reader, 2>(panel, blocks, x, sums);
  }
  if constexpr (kTileTokens >= 4) {
    if (tile == 4) return multiply_panel<Reader, 4>(panel, blocks, x, sums);
  }
  if constexpr (kTileTokens >= 8) return multiply_panel<Reader, 8>(panel, blocks, x, sums);
}

template <class Reader>
void stretch_times_tile(size_t tile, const UnpackedStretch& stretch, size_t blocks, const uint8_t* x,
                        float (*sums)[16]) {
  if (tile == 1) return multiply_stretch<Reader, 1>(stretch, blocks, x, sums);
  if constexpr (kTileTokens >= 2) {
    if (tile == 2) return multiply_stretch<Reader, 2>(stretch, blocks, x, sums);
  }
  if constexpr (kTileTokens >= 4) {
    if (tile == 4) return multiply_stretch<Reader, 4>(stretch, blocks, x, sums);
  }
  if constexpr (kTileTokens >= 8) return multiply_stretch<Reader, 8>(stretch, blocks, x, sums);
}

// All tiles of a block of tokens over `blocks` blocks of one panel. Tile i starts at packed + i *
// tile_stride.
template <class Reader>
void panel_times_block(const uint8_t* panel, size_t blocks, const uint8_t* packed, size_t tile_stride,
                       size_t tokens, float (*sums)[16]) {
  if (tokens <= kTileTokens) return panel_times_tile<Reader>(tile_size(tokens), panel, blocks, packed, sums);
  UnpackedStretch stretch;
  for (size_t first = 0; first < blocks; first += kUnpackedBlocks) {
    const size_t count = smaller(kUnpackedBlocks, blocks - first);
    panel = unpack<Reader>(panel, count, stretch);
    for (size_t t = 0; t < tokens; t += kTileTokens) {
      const size_t tile = tile_size(tokens - t);
      const uint8_t* x = packed + t / kTileTokens * tile_stride + first * tile * kTokenBlockBytes<Reader>;
      stretch_times_tile<Reader>(tile, stretch, count, x, sums + t);
    }
  }
}

// Bytes from the panel's start to block `block`, the first of its unit.
template <class Reader>
OXBOW_INLINE size_t unit_offset(size_t block) {
  return block / Reader::kUnitBlocks * Reader::kHeaderBytes + block * Reader::kBlockBytes;
}

template <class Reader>
[[gnu::noinline]] void matmul_quantized(const PanelMatrix& w, const Activations& x, size_t panel_begin,
                                        size_t panel_end, float* y, size_t y_stride) {
  alignas(64) uint8_t packed[kPackedBytes];
  alignas(64) float sums[kTokenBlock][16];
  const size_t all_blocks = w.cols / kActivationBlock;
  const uint8_t* panels = reinterpret_cast<const uint8_t*>(w.panels);
  for (size_t t0 = 0; t0 < x.rows; t0 += kTokenBlock) {
    const size_t tokens = smaller(kTokenBlock, x.rows - t0);
    const size_t tiles = (tokens + kTileTokens - 1) / kTileTokens;
    const size_t tile_bytes = (tiles > 1 ? kTileTokens : tile_size(tokens)) * kTokenBlockBytes<Reader>;
    const size_t stretch = kPackedBytes / (tiles * tile_bytes) / kUnpackedBlocks * kUnpackedBlocks;
    for (size_t b0 = 0; b0 < all_blocks; b0 += stretch) {
      const size_t blocks = smaller(stretch, all_blocks - b0);
      for (size_t t = 0; t < tokens; t += kTileTokens) {
        const size_t count = smaller(kTileTokens, tokens - t);
        pack_tile<Reader>(x.quantized, t0 + t, count, tile_size(count), b0, blocks,
                          packed + t / kTileTokens * blocks * tile_bytes);
      }
      for (size_t p = panel_begin; p < panel_end; ++p) {
        const size_t lanes = smaller(kPanelRows, w.rows - p * kPanelRows);
        float* part = y + t0 * y_stride + p * kPanelRows;
        begin_sums(part, y_stride, tokens, lanes, b0 == 0, sums);
        panel_times_block<Reader>(panels + p * w.panel_stride + unit_offset<Reader>(b0), blocks, packed,
                                  blocks * tile_bytes, tokens, sums);
        end_sums(sums, tokens, lanes, part, y_stride);
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
  }
}

OXBOW_ISA_END
