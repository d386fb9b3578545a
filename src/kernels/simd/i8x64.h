#pragma once
// A vector of 64 weight codes: a quad of a panel, 16 rows x 4 consecutive columns, one byte each.
//
// The type: U8x64. The functions:
//
//   load_codes(p)
//   low_nibbles(a) high_nibbles(a)   the low, the high 4 bits of each byte
//   crumbs<i>(a)                     bits [2 i, 2 i + 2) of each byte
//   add_bit<v>(a, plane)             a | bit v of the plane << 4
//   add_crumbs<i>(a, plane)          a | bits [2 i, 2 i + 2) of the plane << 4
//   lookup(a, table)                 table[byte] for bytes below 16; make_table(p) reads the 16 bytes
//   store_codes(p, a)
//   dot<kQuads, kMaxCode>(acc, w, x, stride)
//
// dot adds to lane r of acc the exact sum over quads j < kQuads and i < 4 of w[j][4 r + i] * x[j * stride +
// i], where the codes w are in [0, kMaxCode] and x in [-127, 127]. Where kSignedBytes is set and kMaxCode is
// 255, it multiplies w - 128 instead.
//
// What suits the instruction set: kQuadsPerDot<kMaxCode> quads in one dot; up to kFewTokens rows of
// activations times the quads of a block in registers; beyond that, tiles of kTilePanels panels x kTileTokens
// rows with the quads in the L1 cache. All are powers of two.

#include <cstddef>
#include <cstdint>

#include "kernels/simd/f32x16.h"

// Loops over registers. Without registers to hold them, unrolling would only multiply code.
#if !defined(OXBOW_ISA_AVX512) && !defined(OXBOW_ISA_AVX2)
#define OXBOW_UNROLL
#elif defined(__clang__)
#define OXBOW_UNROLL _Pragma("clang loop unroll(full)")
#else
#define OXBOW_UNROLL _Pragma("GCC unroll 16")
#endif

#if defined(OXBOW_ISA_AVX512)
#include "kernels/simd/i8x64_avx512.h"
#elif defined(OXBOW_ISA_AVX2)
#include "kernels/simd/i8x64_avx2.h"
#else
#include "kernels/simd/i8x64_portable.h"
#endif
