#pragma once
// Softmax attention over paged keys and values, with the softmax taken online (Milakov & Gimelshein 2018).
//
// A row is one token and query head. Blocks of 64 keys at absolute positions are visited in ascending order;
// within a block each row is brought to its new maximum once. Nothing that a row computes depends on the rows
// beside it or on keys it does not see: those lanes score -inf, and their values, which may be anything, are
// never multiplied.

#include "kernels/body/attend_tiles.h"
#include "kernels/body/math.h"
#include "kernels/body/row.h"

OXBOW_ISA_BEGIN

// Keys of a block that a row sees, relative to the block's first.
struct KeyRange {
  size_t begin;
  size_t end;  // <= begin: none
};

// A tile's rows inside one block, and the part of the block that all of them see.
struct TileRows {
  size_t first;  // row
  size_t count;  // 0: no row sees the block
  KeyRange range[kTileRows];
  KeyRange common;
  size_t last_end;  // largest end
};

// Beyond this many tiles, stored f16 is widened once per block instead of by each tile as it loads.
inline constexpr size_t kFewTiles = 3;

struct AttendWork {
  const AttendArgs& args;
  AttendScratch at;
  float* scratch;
  size_t rows;
  size_t tile_rows;
  bool few_tiles;
};

OXBOW_INLINE size_t min_of(size_t a, size_t b) {
  return a < b ? a : b;
}
OXBOW_INLINE size_t max_of(size_t a, size_t b) {
  return a > b ? a : b;
}

OXBOW_INLINE size_t first_visible(const AttendArgs& args, size_t position) {
  return args.window != 0 && position + 1 > args.window ? position + 1 - args.window : 0;
}

OXBOW_INLINE KeyRange visible_keys(const AttendArgs& args, size_t row, size_t block) {
  const size_t position = args.first_position + row / args.query_heads;
  const size_t start = block * kKeyBlock;
  const size_t begin = first_visible(args, position);
  const size_t end = position + 1;
  return {begin > start ? min_of(begin - start, kKeyBlock) : 0,
          end > start ? min_of(end - start, kKeyBlock) : 0};
}

// Rows are ordered by token, so those that see a block are consecutive.
inline TileRows rows_of_tile(const AttendWork& work, size_t first_row, size_t block) {
  TileRows tile{};
  tile.common = {0, kKeyBlock};
  const size_t end_row = min_of(first_row + work.tile_rows, work.rows);
  for (size_t row = first_row; row < end_row; ++row) {
    const KeyRange range = visible_keys(work.args, row, block);
    if (range.begin >= range.end) continue;
    if (tile.count == 0) tile.first = row;
    tile.range[tile.count++] = range;
    tile.common.begin = max_of(tile.common.begin, range.begin);
    tile.common.end = min_of(tile.common.end, range.end);
    tile.last_end = max_of(tile.last_end, range.end);
  }
  return tile;
}

// Hides what the row does not see and returns the largest score.
inline float mask_scores(KeyRange range, float* scores) {
  F32x16 largest = broadcast(-__builtin_inff());
  for (size_t lane = 0; lane < kKeyBlock; lane += kLanes) {
    F32x16 score = broadcast(-__builtin_inff());
    if (range.end > lane && range.begin < lane + kLanes) {
      const size_t begin = range.begin > lane ? range.begin - lane : 0;
      score = select(lane_range(begin, min_of(range.end - lane, kLanes)), load(scores + lane), score);
    }
    store(scores + lane, score);
    largest = max(largest, score);
  }
  return reduce_max(largest);
}

// scores = exp(scores - maximum), masked lanes become 0; returns their sum.
OXBOW_INLINE float exponentials(float maximum, float* scores) {
  const F32x16 offset = broadcast(maximum);
  F32x16 p[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    p[v] = exp(sub(load(scores + v * kLanes), offset));
    store(scores + v * kLanes, p[v]);
  }
  return reduce_add(add(add(p[0], p[1]), add(p[2], p[3])));
}

// Turns a tile's scores into probabilities relative to each row's new maximum and brings the sums so far to
// it.
inline void update_softmax(const AttendWork& work, const TileRows& tile) {
  float* scores = work.scratch + work.at.scores;
  float* maxima = work.scratch + work.at.maxima + tile.first;
  float* totals = work.scratch + work.at.totals + tile.first;
  float change[kLanes] = {};
  for (size_t r = 0; r < tile.count; ++r) {
    const float block_maximum = mask_scores(tile.range[r], scores + r * kKeyBlock);
    const float maximum = maxima[r] > block_maximum ? maxima[r] : block_maximum;
    change[r] = maxima[r] - maximum;
    maxima[r] = maximum;
  }
  store(change, exp(load(change)));
  for (size_t r = 0; r < tile.count; ++r) {
    const float block_total = exponentials(maxima[r], scores + r * kKeyBlock);
    totals[r] = first_lane(fma(broadcast(totals[r]), broadcast(change[r]), broadcast(block_total)));
    if (change[r] == 1.0f) continue;
    float* sums = work.scratch + work.at.sums + (tile.first + r) * work.at.value_stride;
    const F32x16 factor = broadcast(change[r]);
    for (size_t i = 0; i < work.at.value_stride; i += kLanes) store(sums + i, mul(load(sums + i), factor));
  }
}

// Where a row's queries start: [tile, head_dim, 6].
OXBOW_INLINE size_t query_offset(const AttendWork& work, size_t row) {
  return row / work.tile_rows * kTileRows * work.args.head_dim_k + row % work.tile_rows;
}

template <class Keys>
OXBOW_INLINE void score_block(const AttendWork& work, const TileRows& tile, Keys keys) {
  const size_t head_dim = work.args.head_dim_k;
  const float* queries = work.scratch + work.at.queries + query_offset(work, tile.first);
  with_rows(tile.count, [&](auto rows) {
    score_rows<decltype(rows)::value>(queries, keys, head_dim, tile.last_end, work.scratch + work.at.scores);
  });
}

// The keys that all rows see go through the tile; those at the edges, row by row.
template <class Values>
OXBOW_INLINE void add_values(const AttendWork& work, const TileRows& tile, Values values,
                             size_t source_stride) {
  const float* probabilities = work.scratch + work.at.scores;
  const size_t stride = work.at.value_stride;
  float* sums = work.scratch + work.at.sums + tile.first * stride;
  const bool share = tile.common.begin < tile.common.end;
  for (size_t r = 0; r < tile.count; ++r) {
    const size_t end = share ? tile.common.begin : tile.range[r].end;
    value_rows<1>(probabilities + r * kKeyBlock, values, source_stride, tile.range[r].begin, end,
                  sums + r * stride, stride);
  }
  if (!share) return;
  with_rows(tile.count, [&](auto rows) {
    value_rows<decltype(rows)::value>(probabilities, values, source_stride, tile.common.begin,
                                      tile.common.end, sums, stride);
  });
  for (size_t r = 0; r < tile.count; ++r) {
    value_rows<1>(probabilities + r * kKeyBlock, values, source_stride, tile.common.end, tile.range[r].end,
                  sums + r * stride, stride);
  }
}

template <class Keys, class Values>
inline void attend_block(const AttendWork& work, size_t block, Keys keys, Values values,
                         size_t source_stride) {
  for (size_t row = 0; row < work.rows; row += work.tile_rows) {
    const TileRows tile = rows_of_tile(work, row, block);
    if (tile.count == 0) continue;
    score_block(work, tile, keys);
    update_softmax(work, tile);
    add_values(work, tile, values, source_stride);
  }
}

// The same place of the following block, which a call visits next; 0 in the last.
OXBOW_INLINE ptrdiff_t distance_ahead(const AttendArgs& args, size_t block) {
  const size_t last = (args.first_position + args.tokens - 1) / kKeyBlock;
  if (block >= last) return 0;
  return static_cast<ptrdiff_t>(reinterpret_cast<uintptr_t>(args.pages[block + 1]) -
                                reinterpret_cast<uintptr_t>(args.pages[block]));
}

// f16 values whose vectors would be partial, or that many tiles share, are widened once per block.
template <class Keys>
OXBOW_INLINE void attend_with_keys(const AttendWork& work, size_t block, Keys keys) {
  const AttendArgs& args = work.args;
  const size_t width = args.head_dim_v;
  const ptrdiff_t ahead = distance_ahead(args, block);
  const std::byte* stored = args.pages[block] + args.v_offset;
  const float* floats = reinterpret_cast<const float*>(stored);
  const uint16_t* halves = reinterpret_cast<const uint16_t*>(stored);
  if (width == work.at.value_stride) {
    if (args.v_type == KvType::kF32)
      return attend_block(work, block, keys, FloatSource{floats, ahead}, width);
    if (work.few_tiles) return attend_block(work, block, keys, HalfSource{halves, ahead}, width);
  }
  float* wide = work.scratch + work.at.values;
  for (size_t j = 0; j < kKeyBlock; ++j) {
    for_each_vector(width, [&](size_t i, size_t count) {
      const size_t index = j * width + i;
      prefetch_lines(stored + index * (args.v_type == KvType::kF32 ? 4 : 2), 64, ahead);
      store(wide + j * work.at.value_stride + i, args.v_type == KvType::kF32
                                                     ? load_up_to(floats + index, count)
                                                     : load_f16_up_to(halves + index, count));
    });
  }
  attend_block(work, block, keys, WideSource{wide}, work.at.value_stride);
}

inline void attend_one_block(const AttendWork& work, size_t block) {
  const AttendArgs& args = work.args;
  const ptrdiff_t ahead = distance_ahead(args, block);
  const std::byte* stored = args.pages[block] + args.k_offset;
  if (args.k_type == KvType::kF32) {
    return attend_with_keys(work, block, FloatSource{reinterpret_cast<const float*>(stored), ahead});
  }
  const HalfSource halves{reinterpret_cast<const uint16_t*>(stored), ahead};
  if (work.few_tiles) return attend_with_keys(work, block, halves);
  float* keys = work.scratch + work.at.keys;
  for (size_t i = 0; i < args.head_dim_k * kKeyBlock; i += kLanes) {
    halves.prefetch(i, 1);
    store(keys + i, halves.at(i));
  }
  attend_with_keys(work, block, WideSource{keys});
}

inline void start_rows(const AttendWork& work) {
  const AttendArgs& args = work.args;
  const size_t head_dim = args.head_dim_k;
  for (size_t row = 0; row < work.rows; ++row) {
    const float* q = args.q + row / args.query_heads * args.q_stride + row % args.query_heads * head_dim;
    float* to = work.scratch + work.at.queries + query_offset(work, row);
    for (size_t d = 0; d < head_dim; ++d) to[d * kTileRows] = q[d] * args.scale;
    work.scratch[work.at.maxima + row] = -__builtin_inff();
    work.scratch[work.at.totals + row] = 0.0f;
    float* sums = work.scratch + work.at.sums + row * work.at.value_stride;
    for (size_t i = 0; i < work.at.value_stride; i += kLanes) store(sums + i, zero());
  }
}

inline void attend(const AttendArgs& args) {
  const size_t rows = args.tokens * args.query_heads;
  if (rows == 0) return;
  const size_t tiles = (rows + kTileRows - 1) / kTileRows;
  float* scratch = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(args.scratch) + 63) / 64 * 64);
  const AttendWork work{args,
                        attend_scratch(args.head_dim_k, args.head_dim_v, rows),
                        scratch,
                        rows,
                        (rows + tiles - 1) / tiles,
                        tiles <= kFewTiles};
  start_rows(work);
  const size_t last_block = (args.first_position + args.tokens - 1) / kKeyBlock;
  for (size_t block = first_visible(args, args.first_position) / kKeyBlock; block <= last_block; ++block) {
    attend_one_block(work, block);
  }
  for (size_t row = 0; row < rows; ++row) {
    const F32x16 total = broadcast(work.scratch[work.at.totals + row]);
    const float* sums = work.scratch + work.at.sums + row * work.at.value_stride;
    float* out =
        args.out + row / args.query_heads * args.out_stride + row % args.query_heads * args.head_dim_v;
    for_each_vector(args.head_dim_v,
                    [&](size_t i, size_t count) { store_up_to(out + i, div(load(sums + i), total), count); });
  }
}

OXBOW_ISA_END
