#pragma once
// What a mixer sees of memory during one step: where each sequence's keys, values, states and rows lie.
// Views are valid between Memory::prepare and the step's commit; they are written by one forward pass.

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kv_type.h"

namespace oxbow::memory {

// The rows of the batch that belong to one sequence: consecutive tokens at consecutive positions.
struct BatchSpan {
  size_t first_row = 0;
  size_t tokens = 0;
  size_t position = 0;  // of the first token
};

// One KvSpec over all sequences of the step. A page holds 64 positions; of each head K as [head_dim_k, 64],
// then V as [64, head_dim_v].
struct AttentionView {
  struct Sequence {
    BatchSpan span;
    std::byte* const* pages = nullptr;  // pages[i]: positions [64 i, 64 i + 64), up to the last new token
  };
  std::span<const Sequence> sequences;
  size_t k_offset = 0;  // of head 0 inside a page, bytes
  size_t v_offset = 0;
  size_t k_head_bytes = 0;  // from head to head
  size_t v_head_bytes = 0;
  kernels::KvType k_type = kernels::KvType::kF32;
  kernels::KvType v_type = kernels::KvType::kF32;
};

// One RecurrentSpec over all sequences of the step. Per sequence the mixer
//   1. starts from `source` (null: zeros; equal to `state`: already in place) copied into `state`,
//   2. runs the recurrence over the `replay` rows, oldest first,
//   3. runs it over the new tokens, writing each token's row where rows[t] is not null,
//   4. copies the state as it is before token `at` of the span into each of `snapshots`.
// All pointers are to the start of a block of all recurrent specs; state_offset and row_offset select this
// one.
struct StateSnapshot {
  size_t at = 0;  // index into the span's tokens, 0 to tokens - 1
  float* state = nullptr;
};

struct RecurrentView {
  struct Sequence {
    BatchSpan span;
    float* state = nullptr;
    const float* source = nullptr;
    std::span<const float* const> replay;
    float* const* rows = nullptr;              // [span.tokens]
    std::span<const StateSnapshot> snapshots;  // in ascending order
  };
  std::span<const Sequence> sequences;
  size_t state_offset = 0;  // floats
  size_t row_offset = 0;
  size_t state_floats = 0;
  size_t row_floats = 0;
};

// One view per state spec, in the order in which the model declared them, each kind counted by itself.
struct StepViews {
  std::span<const BatchSpan> spans;  // one per sequence of the step
  std::span<const AttentionView> attention;
  std::span<const RecurrentView> recurrent;
  size_t rows = 0;  // tokens of the whole step
};

}  // namespace oxbow::memory
