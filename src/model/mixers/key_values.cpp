#include "model/mixers/key_values.h"

#include <algorithm>

#include "base/bytes.h"

namespace oxbow::model {
namespace {

// Query heads of one K/V head that one task attends: threads share the heads when few K/V heads have many.
constexpr size_t kTaskHeads = 8;

size_t task_heads(const HeadShape& shape) {
  return std::min(kTaskHeads, shape.heads / shape.kv_heads);
}

}  // namespace

void store_keys_values(const StepContext& context, const memory::AttentionView& view, const HeadShape& shape,
                       const HeadRows& keys, const HeadRows& values) {
  const size_t heads = shape.kv_heads;
  context.pool.run(view.sequences.size() * heads, 1, [&](size_t begin, size_t end, int) {
    for (size_t task = begin; task < end; ++task) {
      const auto& sequence = view.sequences[task / heads];
      const size_t head = task % heads;
      for (size_t t = 0; t < sequence.span.tokens; ++t) {
        const size_t position = sequence.span.position + t;
        const size_t row = sequence.span.first_row + t;
        std::byte* page = sequence.pages[position / kernels::kKeyBlock];
        const size_t slot = position % kernels::kKeyBlock;
        context.kernels.store_key(keys.values + row * keys.stride + head * shape.head_dim_k, shape.head_dim_k,
                                  slot, view.k_type, page + view.k_offset + head * view.k_head_bytes);
        context.kernels.store_value(values.values + row * values.stride + head * shape.head_dim_v,
                                    shape.head_dim_v, slot, view.v_type,
                                    page + view.v_offset + head * view.v_head_bytes);
      }
    }
  });
}

AttendRoom carve_attend_room(Carver& carver, const HeadShape& shape, int threads) {
  AttendRoom room;
  room.floats_each =
      align_up(kernels::attend_scratch_floats(shape.head_dim_k, shape.head_dim_v, task_heads(shape)), 16);
  room.floats = carver.floats(room.floats_each * static_cast<size_t>(threads));
  return room;
}

void attend_all(const StepContext& context, const memory::AttentionView& view, const HeadShape& shape,
                const float* q, const AttendRoom& room, float* out) {
  const size_t share = shape.heads / shape.kv_heads;
  const size_t parts = ceil_div(share, kTaskHeads);  // of one K/V head's query heads
  kernels::AttendArgs common;
  common.head_dim_k = shape.head_dim_k;
  common.head_dim_v = shape.head_dim_v;
  common.scale = shape.scale;
  common.k_type = view.k_type;
  common.v_type = view.v_type;
  common.window = shape.window_tokens;
  common.q_stride = shape.heads * shape.head_dim_k;
  common.out_stride = shape.heads * shape.head_dim_v;
  for (const auto& sequence : view.sequences) {
    const size_t tiles = ceil_div(sequence.span.tokens, kernels::kAttendTokens);
    const size_t tile_tasks = shape.kv_heads * parts;
    context.pool.run(tiles * tile_tasks, 1, [&](size_t begin, size_t end, int thread) {
      for (size_t task = begin; task < end; ++task) {
        // The last tiles see the most keys: they go first, so that threads end together.
        const size_t first = (tiles - 1 - task / tile_tasks) * kernels::kAttendTokens;
        const size_t kv_head = task % tile_tasks / parts;
        const size_t part = task % parts * kTaskHeads;
        const size_t head = kv_head * share + part;
        const size_t row = sequence.span.first_row + first;
        kernels::AttendArgs args = common;
        args.query_heads = std::min(kTaskHeads, share - part);
        args.pages = sequence.pages;
        args.k_offset = view.k_offset + kv_head * view.k_head_bytes;
        args.v_offset = view.v_offset + kv_head * view.v_head_bytes;
        args.tokens = std::min(kernels::kAttendTokens, sequence.span.tokens - first);
        args.first_position = sequence.span.position + first;
        args.q = q + row * common.q_stride + head * shape.head_dim_k;
        args.out = out + row * common.out_stride + head * shape.head_dim_v;
        args.scratch = room.floats + static_cast<size_t>(thread) * room.floats_each;
        context.kernels.attend(args);
      }
    });
  }
}

}  // namespace oxbow::model
