#pragma once
// What attention mixers share: writing keys and values to their pages, and the heads' softmax over them.

#include <cstddef>

#include "memory/state_spec.h"
#include "memory/views.h"
#include "model/scratch.h"
#include "model/step_context.h"

namespace oxbow::model {

struct HeadShape {
  size_t heads = 0;  // query head h uses K/V head h / (heads / kv_heads)
  size_t kv_heads = 0;
  size_t head_dim_k = 0;
  size_t head_dim_v = 0;
  size_t window_tokens = 0;
  float scale = 1.0f;

  memory::KvSpec kv_spec() const { return {kv_heads, head_dim_k, head_dim_v, window_tokens}; }
};

// Rows of heads, one row per token of the step.
struct HeadRows {
  const float* values = nullptr;
  size_t stride = 0;  // floats from row to row
};

// keys: [rows, kv_heads, head_dim_k] within their stride, values likewise with head_dim_v.
void store_keys_values(const StepContext& context, const memory::AttentionView& view, const HeadShape& shape,
                       const HeadRows& keys, const HeadRows& values);

// Working room of attend_all for each of the threads.
struct AttendRoom {
  float* floats = nullptr;
  size_t floats_each = 0;
};
AttendRoom carve_attend_room(Carver& carver, const HeadShape& shape, int threads);

// q: [rows, heads, head_dim_k]; out: [rows, heads, head_dim_v].
void attend_all(const StepContext& context, const memory::AttentionView& view, const HeadShape& shape,
                const float* q, const AttendRoom& room, float* out);

}  // namespace oxbow::model
