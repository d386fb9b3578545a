#pragma once
// Byte layouts of the weight panels (16 rows side by side), shared by the packer and the kernels.
//
// A quantised panel is a sequence of units, each a header with the scales of its blocks and then the blocks.
// A block is 32 columns of all 16 rows. Its codes are unsigned and stand in 8 quads: quad v is 64 bytes, byte
// 4 r + i of it the code of row r, column 4 v + i. Formats that are signed in the file add an offset to their
// codes, which the kernels take back with the sum of the activations. The bits of the quads are spread over
// these planes, in this order:
//
//   8 bits    8 x 64 bytes, quad v as it is
//   4 bits    4 x 64 bytes, quad v in the low nibbles of bytes [64 v, 64 v + 64), quad v + 4 in the high ones
//   2 bits    2 x 64 bytes, quad 4 h + i in bits [2 i, 2 i + 2) of bytes [64 h, 64 h + 64)
//   1 bit     64 bytes, quad v in bit v
//
//   format   weight           header of a unit, for rows 0..15       blocks   planes of a block
//   Q8_0     d (q - 128)      f16 d[2 blocks]                        2        8
//   Q4_0     d (q - 8)        f16 d[2 blocks]                        2        4
//   Q5_0     d (q - 16)       f16 d[2 blocks]                        2        4, 1 (bit 4)
//   Q4_1     d q + m          f16 d, f16 m                           1        4
//   Q5_1     d q + m          f16 d, f16 m                           1        4, 1 (bit 4)
//   Q2_K     d s q - dmin m   f16 d, f16 dmin, u32[4] (4-bit s, m)   8        2
//   Q4_K     d s q - dmin m   f16 d, f16 dmin, u32[3] (6-bit s, m)   8        4
//   Q5_K     d s q - dmin m   f16 d, f16 dmin, u32[3] (6-bit s, m)   8        4, 1 (bit 4)
//   Q6_K     d s (q - 32)     f32 d, u32[4] (signed 8-bit s)         8        4, 2 (bits 4 and 5)
//   IQ4_NL   d v[q]           f16 d[2 blocks]                        2        4
//   IQ4_XS   d (s - 32) v[q]  f16 d, u16 (top 2 bits of s), u32      8        4
//   MXFP4    2^(e - 128) v[q] u32 (8-bit e of 4 blocks)              4        4
//
// Every header array has the 16 rows innermost. Q2_K and Q6_K: byte j of word w belongs to the 16 columns
// from 16 (4 w + j) on; Q2_K has s in its low and m in its high nibble. Six-bit scales: byte j of word 0 is s
// of block j, of word 1 s of block 4 + j, of word 2 m of block j, each in the low 6 bits; m of block 4 + j is
// the top 2 bits of the three bytes, word 0 lowest. IQ4_XS: nibble j of the u32 is the low part of s of block
// j, bits 2 j and 2 j + 1 of the u16 its top. v is the codebook of the type (matmul_codebooks.h).
//
// A last unit with fewer blocks is cut off after them. Float panels hold [cols, 16] values of their type.
// Panels end at a multiple of 64 bytes.

#include <cstddef>

namespace oxbow::kernels {

struct Q8_0Layout {
  static constexpr size_t kUnitBlocks = 2, kHeaderBytes = 64, kBlockBytes = 512;
};
struct Q4_0Layout {
  static constexpr size_t kUnitBlocks = 2, kHeaderBytes = 64, kBlockBytes = 256;
};
struct Q5_0Layout {
  static constexpr size_t kUnitBlocks = 2, kHeaderBytes = 64, kBlockBytes = 320;
};
struct Q4_1Layout {
  static constexpr size_t kUnitBlocks = 1, kHeaderBytes = 64, kBlockBytes = 256;
};
struct Q5_1Layout {
  static constexpr size_t kUnitBlocks = 1, kHeaderBytes = 64, kBlockBytes = 320;
};
struct Q2_KLayout {
  static constexpr size_t kUnitBlocks = 8, kHeaderBytes = 320, kBlockBytes = 128;
};
struct Q4_KLayout {
  static constexpr size_t kUnitBlocks = 8, kHeaderBytes = 256, kBlockBytes = 256;
};
struct Q5_KLayout {
  static constexpr size_t kUnitBlocks = 8, kHeaderBytes = 256, kBlockBytes = 320;
};
struct Q6_KLayout {
  static constexpr size_t kUnitBlocks = 8, kHeaderBytes = 320, kBlockBytes = 384;
};

struct IQ4_NLLayout {
  static constexpr size_t kUnitBlocks = 2, kHeaderBytes = 64, kBlockBytes = 256;
};
struct IQ4_XSLayout {
  static constexpr size_t kUnitBlocks = 8, kHeaderBytes = 128, kBlockBytes = 256;
};
struct MXFP4Layout {
  static constexpr size_t kUnitBlocks = 4, kHeaderBytes = 64, kBlockBytes = 256;
};

}  // namespace oxbow::kernels
