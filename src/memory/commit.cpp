// The end of a step: what was written becomes part of its sequences, or none of it does.

#include <algorithm>

#include "base/bytes.h"
#include "memory/memory.h"

namespace oxbow::memory {
namespace {

// Lays replacements (empty: keep what is there) over pages from index first on, up to count pages in all.
// first and count are indices into `pages`.
void replace_pages(std::vector<BlockRef>& pages, size_t first, std::vector<BlockRef>& replacements,
                   size_t count) {
  for (size_t i = 0; i < replacements.size() && first + i < count; ++i) {
    if (first + i < pages.size()) {
      if (replacements[i]) pages[first + i] = std::move(replacements[i]);
    } else {
      pages.push_back(std::move(replacements[i]));
    }
  }
}

}  // namespace

void Memory::commit_entry(PendingSequence& pending, size_t accepted) {
  Sequence& sequence = *find(pending.id);
  History& history = *sequence.history;
  const size_t end = pending.span.position + accepted;
  for (size_t g = 0; g < pending.new_pages.size(); ++g) {
    PageRun& run = history.pages[g];
    replace_pages(run.blocks, pending.first_page - run.first, pending.new_pages[g],
                  ceil_div(end, kPagePositions) - run.first);
  }
  history.length = end;
  history.tokens.insert(history.tokens.end(), pending.tokens.begin(),
                        pending.tokens.begin() + static_cast<ptrdiff_t>(accepted));
  sequence.length = end;
  if (layout_.has_recurrent()) {
    if (pending.promote_next_base) {
      history.base = std::move(*history.next_base);
      history.next_base.reset();
    }
    for (const PlannedState& planned : pending.states) {
      if (planned.position > end || planned.use == PlannedState::kCheckpoint) continue;
      const bool is_base = planned.use == PlannedState::kNewBase;
      if (is_base) history.next_base.reset();
      (is_base ? history.base : history.next_base.emplace()) = {planned.block.share(), planned.position};
    }
    history.drop_rows_before(history.base.position);
    if (history.row_pages.empty()) history.first_row_page = pending.first_row_page;
    replace_pages(history.row_pages, pending.first_row_page - history.first_row_page, pending.new_row_pages,
                  ceil_div(end, kRowPageTokens) - history.first_row_page);
    if (pending.new_working) sequence.working = std::move(pending.new_working);
    sequence.working_position = accepted == pending.span.tokens ? end : kInvalid;
  }
  for (const size_t position : pending.checkpoints) {
    if (position <= end) keep_checkpoint(sequence, position, pending.states);
  }
  std::erase_if(sequence.marks, [&](size_t mark) { return mark <= end; });
  history.drop_pages_before(
      layout_.has_recurrent() ? history.base.position : end - std::min(end, reach_rows_), layout_);
  pending.reset();
}

void Memory::abandon() {
  for (size_t i = 0; i < plan_.count; ++i) {
    PendingSequence& pending = plan_.sequences[i];
    // The forward pass may have run over the sequence's own working state; base and rows rebuild it.
    if (layout_.has_recurrent() && !pending.new_working) find(pending.id)->working_position = kInvalid;
    pending.reset();
  }
  plan_.active = false;
}

}  // namespace oxbow::memory
