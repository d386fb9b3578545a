#pragma once
// Where one call of attend keeps its intermediate values.

#include "kernels/kernels.h"
#include "kernels/simd/isa.h"

OXBOW_ISA_BEGIN

inline constexpr size_t kTileRows =
    6;  // rows (pairs of token and query head) that share the loads of keys and values

constexpr size_t padded_to(size_t n, size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// Offsets in floats from the start of the scratch. R: rows padded to whole tiles.
struct AttendScratch {
  size_t value_stride;  // head_dim_v padded to 16
  size_t queries;       // [R / 6, head_dim_k, 6], scaled
  size_t sums;          // [R, value_stride]: sum of probability times value, not yet divided
  size_t maxima;        // [R]: largest score so far
  size_t totals;        // [R]: sum of probabilities
  size_t scores;        // [6, 64], of the tile in work
  size_t keys;          // [head_dim_k, 64], a block widened to f32
  size_t values;        // [64, value_stride]
  size_t floats;        // in all, the alignment of the start to 64 bytes included
};

constexpr AttendScratch attend_scratch(size_t head_dim_k, size_t head_dim_v, size_t rows) {
  const size_t padded_rows = padded_to(rows, kTileRows);
  AttendScratch s{};
  s.value_stride = padded_to(head_dim_v, 16);
  s.sums = s.queries + padded_to(padded_rows * head_dim_k, 16);
  s.maxima = s.sums + padded_rows * s.value_stride;
  s.totals = s.maxima + padded_to(padded_rows, 16);
  s.scores = s.totals + padded_to(padded_rows, 16);
  s.keys = s.scores + kTileRows * kKeyBlock;
  s.values = s.keys + head_dim_k * kKeyBlock;
  s.floats = s.values + kKeyBlock * s.value_stride + 15;
  return s;
}

OXBOW_ISA_END
