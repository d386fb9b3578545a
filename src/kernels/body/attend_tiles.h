#pragma once
// The two products of attention on one block of 64 keys, for a tile of up to 6 rows.
//
// Invariants
//  1. A score is one chain of fused multiply-adds over the head dimension, from 0, in ascending order.
//  2. A sum over values is one chain over the keys in ascending order.
// The shape of a tile therefore decides how often keys and values are loaded and never what comes out.

#include "kernels/body/attend_scratch.h"
#include "kernels/simd/f32x16.h"

OXBOW_ISA_BEGIN

// `ahead` leads to another allocation, so the address is computed as a number.
OXBOW_INLINE void prefetch_lines(const void* data, size_t bytes, ptrdiff_t ahead) {
  const uintptr_t start = reinterpret_cast<uintptr_t>(data) + static_cast<uintptr_t>(ahead);
#pragma GCC unroll 8
  for (size_t i = 0; i < bytes; i += 64) __builtin_prefetch(reinterpret_cast<const void*>(start + i), 0, 2);
}

// Keys or values of a block, widened in the scratch or stored as f32.
struct WideSource {
  const float* data;
  OXBOW_INLINE F32x16 at(size_t index) const { return load(data + index); }
  OXBOW_INLINE void prefetch(size_t, size_t) const {}
};

// The same as stored, for the few rows of a decoded token, where memory is what takes time: every load also
// fetches the same place of the next block, `ahead` bytes away, which no hardware prefetcher can guess. In
// the last block it is 0.
struct FloatSource {
  const float* data;
  ptrdiff_t ahead;
  OXBOW_INLINE F32x16 at(size_t index) const { return load(data + index); }
  OXBOW_INLINE void prefetch(size_t index, size_t vectors) const {
    prefetch_lines(data + index, vectors * 64, ahead);
  }
};
struct HalfSource {
  const uint16_t* data;
  ptrdiff_t ahead;
  OXBOW_INLINE F32x16 at(size_t index) const { return load_f16(data + index); }
  OXBOW_INLINE void prefetch(size_t index, size_t vectors) const {
    prefetch_lines(data + index, vectors * 32, ahead);
  }
};

// Vectors of one row of a tile, such that accumulators and loaded vectors fit the registers.
constexpr int score_vectors(int rows) {
  if (kVectorRegisters >= 32) return 4;
  return rows == 1 ? 4 : rows == 2 ? 2 : 1;
}
constexpr int value_vectors(int rows) {
  if (kVectorRegisters >= 32) return rows == 1 ? 8 : 4;
  return rows == 1 ? 4 : rows == 2 ? 2 : 1;
}

// scores[r, lane] = queries[:, r] . keys[:, lane] for 16 kVectors lanes from `lane` on.
template <int kRows, int kVectors, class Source>
OXBOW_INLINE void score_tile(const float* queries, Source keys, size_t head_dim, size_t lane, float* scores) {
  F32x16 sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[r][v] = zero();
  }
  for (size_t d = 0; d < head_dim; ++d) {
    F32x16 key[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) key[v] = keys.at(d * kKeyBlock + lane + v * kLanes);
    keys.prefetch(d * kKeyBlock + lane, kVectors);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const F32x16 query = broadcast(queries[d * kTileRows + r]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[r][v] = fma(query, key[v], sum[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) store(scores + r * kKeyBlock + lane + v * kLanes, sum[r][v]);
  }
}

// All scores of the block that lie below `end`, rounded up to whole vectors.
template <int kRows, class Source>
inline void score_rows(const float* queries, Source keys, size_t head_dim, size_t end, float* scores) {
  constexpr int kVectors = score_vectors(kRows);
  for (size_t lane = 0; lane < end; lane += kVectors * kLanes) {
    score_tile<kRows, kVectors>(queries, keys, head_dim, lane, scores);
  }
}

// sums[r, column] += probabilities[r, j] * values[j, column] for j in [begin, end) and 16 kVectors columns.
template <int kRows, int kVectors, class Source>
OXBOW_INLINE void value_tile(const float* probabilities, Source values, size_t source_stride, size_t begin,
                             size_t end, size_t column, float* sums, size_t sums_stride) {
  F32x16 sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[r][v] = load(sums + r * sums_stride + column + v * kLanes);
  }
  for (size_t j = begin; j < end; ++j) {
    F32x16 value[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) value[v] = values.at(j * source_stride + column + v * kLanes);
    values.prefetch(j * source_stride + column, kVectors);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const F32x16 p = broadcast(probabilities[r * kKeyBlock + j]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[r][v] = fma(p, value[v], sum[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) store(sums + r * sums_stride + column + v * kLanes, sum[r][v]);
  }
}

// All columns from `column` on, the widest tiles first.
template <int kRows, int kVectors, class Source>
OXBOW_INLINE void value_columns(const float* probabilities, Source values, size_t source_stride, size_t begin,
                                size_t end, size_t column, float* sums, size_t sums_stride) {
  for (; column + kVectors * kLanes <= sums_stride; column += kVectors * kLanes) {
    value_tile<kRows, kVectors>(probabilities, values, source_stride, begin, end, column, sums, sums_stride);
  }
  if constexpr (kVectors > 1) {
    value_columns<kRows, kVectors / 2>(probabilities, values, source_stride, begin, end, column, sums,
                                       sums_stride);
  }
}

template <int kRows, class Source>
inline void value_rows(const float* probabilities, Source values, size_t source_stride, size_t begin,
                       size_t end, float* sums, size_t sums_stride) {
  if (begin >= end) return;
  value_columns<kRows, value_vectors(kRows)>(probabilities, values, source_stride, begin, end, 0, sums,
                                             sums_stride);
}

// Calls visit with the number of rows as a constant.
template <int kCount>
struct RowCount {
  static constexpr int value = kCount;
};
template <class Visit>
OXBOW_INLINE void with_rows(size_t rows, Visit visit) {
  static_assert(kTileRows == 6);
  switch (rows) {
    case 1:
      return visit(RowCount<1>{});
    case 2:
      return visit(RowCount<2>{});
    case 3:
      return visit(RowCount<3>{});
    case 4:
      return visit(RowCount<4>{});
    case 5:
      return visit(RowCount<5>{});
    case 6:
      return visit(RowCount<6>{});
    default:
      return;
  }
}

OXBOW_ISA_END
