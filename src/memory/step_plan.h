#pragma once
// What a prepared step holds between prepare and commit. Reused from step to step, so that a warmed-up step
// allocates no bookkeeping.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/block_pool.h"
#include "memory/views.h"

namespace oxbow::memory {

// A state that the step copies out on its way: as it is at an absolute position, which lies in
// [span.position, end - may_reject] and before the last new token's end.
struct PlannedState {
  enum Use { kNewBase, kNextBase, kCheckpoint };
  size_t position = 0;
  Use use = kCheckpoint;
  BlockRef block;
};

struct PendingSequence {
  uint32_t id = 0;
  BatchSpan span;
  size_t may_reject = 0;
  std::vector<int32_t> tokens;

  // Per K/V group: replacements and additions for the pages from first_page on, and the table the mixers see.
  size_t first_page = 0;
  std::vector<std::vector<BlockRef>> new_pages;
  std::vector<std::vector<std::byte*>> page_tables;

  // Recurrent layers.
  bool promote_next_base = false;
  size_t log_begin = 0;                  // rows are written from here on
  std::vector<PlannedState> states;      // by position
  std::vector<StateSnapshot> snapshots;  // the same, as the mixers see them
  std::vector<size_t> checkpoints;       // positions in (span.position, end] where one is to be kept
  size_t first_row_page = 0;
  std::vector<BlockRef> new_row_pages;
  std::vector<float*> rows;
  BlockRef new_working;  // empty: the sequence's own working state is updated in place
  float* state = nullptr;
  const float* source = nullptr;
  std::vector<const float*> replay;

  size_t end() const { return span.position + span.tokens; }
  void reset();
};

struct StepPlan {
  bool active = false;
  size_t count = 0;  // sequences in use of `sequences`
  std::vector<PendingSequence> sequences;
  std::vector<BatchSpan> spans;
  std::vector<std::vector<AttentionView::Sequence>> attention_sequences;  // per K/V group
  std::vector<RecurrentView::Sequence> recurrent_sequences;
  std::vector<AttentionView> attention;
  std::vector<RecurrentView> recurrent;
  StepViews views;
};

}  // namespace oxbow::memory
