// Memory::prepare: everything a step needs is reserved here, and nothing that exists is changed.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/bytes.h"
#include "base/check.h"
#include "memory/memory.h"

namespace oxbow::memory {

void PendingSequence::reset() {
  tokens.clear();
  for (auto& group : new_pages) group.clear();
  for (auto& table : page_tables) table.clear();
  promote_next_base = false;
  states.clear();
  snapshots.clear();
  checkpoints.clear();
  new_row_pages.clear();
  rows.clear();
  new_working = BlockRef();
  state = nullptr;
  source = nullptr;
  replay.clear();
}

Result<Step> Memory::prepare(std::span<const BatchEntry> batch) {
  OXBOW_CHECK(!plan_.active);
  if (plan_.sequences.size() < batch.size()) plan_.sequences.resize(batch.size());
  plan_.count = 0;
  size_t first_row = 0;
  for (const BatchEntry& entry : batch) {
    PendingSequence& pending = plan_.sequences[plan_.count];
    Status planned = plan_entry(entry, first_row, pending);
    ++plan_.count;
    if (!planned) {
      for (size_t i = 0; i < plan_.count; ++i) plan_.sequences[i].reset();
      plan_.count = 0;
      return tl::unexpected<Error>(std::move(planned).error());
    }
    first_row += entry.tokens.size();
  }
  plan_.active = true;
  plan_.views.rows = first_row;
  fill_views();
  return Step(this);
}

Status Memory::plan_entry(const BatchEntry& entry, size_t first_row, PendingSequence& pending) {
  pending.reset();
  Sequence* sequence = find(entry.sequence);
  if (sequence == nullptr) return fail(ErrorKind::kNotFound, "there is no sequence {}", entry.sequence);
  if (entry.tokens.empty())
    return fail(ErrorKind::kInvalidInput, "sequence {} has no new tokens", entry.sequence);
  if (entry.may_reject > entry.tokens.size()) {
    return fail(ErrorKind::kInvalidInput, "sequence {}: {} of {} new tokens cannot be rejected",
                entry.sequence, entry.may_reject, entry.tokens.size());
  }
  for (size_t i = 0; i < plan_.count; ++i) {
    if (plan_.sequences[i].id == entry.sequence) {
      return fail(ErrorKind::kInvalidInput, "sequence {} stands in the batch twice", entry.sequence);
    }
  }
  own_history(*sequence);
  pending.id = entry.sequence;
  pending.span = {first_row, entry.tokens.size(), sequence->length};
  pending.may_reject = entry.may_reject;
  pending.tokens.assign(entry.tokens.begin(), entry.tokens.end());
  OXBOW_TRY(plan_pages(pending, *sequence->history));
  if (layout_.has_recurrent()) {
    OXBOW_TRY(plan_bases(pending, *sequence->history));
    OXBOW_TRY(plan_rows(pending, *sequence->history));
    OXBOW_TRY(plan_state(pending, *sequence));
  }
  plan_checkpoints(pending, *sequence);
  return {};
}

Status Memory::plan_pages(PendingSequence& pending, const History& history) {
  const size_t groups = layout_.groups().size();
  pending.new_pages.resize(groups);
  pending.page_tables.resize(groups);
  pending.first_page = pending.span.position / kPagePositions;
  const size_t page_count = ceil_div(pending.end(), kPagePositions);
  for (size_t g = 0; g < groups; ++g) {
    const PageRun& pages = history.pages[g];
    std::vector<std::byte*>& table = pending.page_tables[g];
    for (size_t i = 0; i < pending.first_page; ++i)
      table.push_back(pages.has(i) ? pages.at(i).data() : nullptr);
    for (size_t i = pending.first_page; i < page_count; ++i) {
      OXBOW_ASSIGN(std::byte * page, writable_page(pending.id, pages.has(i) ? &pages.at(i) : nullptr,
                                                   layout_.groups()[g].page_bytes, pending.new_pages[g]));
      table.push_back(page);
    }
  }
  return {};
}

// Where the log starts after this step. With R = reach_rows_: a long chunk leaves a base R/2 before its end;
// token by token, a second base is laid R/2 behind the first and takes over when the log has grown to R. So
// at least R/2 rows (or the whole sequence) can always be rewound, and the log stays near R rows.
Status Memory::plan_bases(PendingSequence& pending, const History& history) {
  const size_t half = reach_rows_ / 2;
  const size_t end = pending.end();
  const size_t last_allowed = std::min(end - 1, end - pending.may_reject);
  const auto copy_out = [&](size_t position, PlannedState::Use use) -> Status {
    if (position > last_allowed) return {};
    OXBOW_ASSIGN(BlockRef block, allocate(pending.id, layout_.state_bytes(), "a recurrent state"));
    pending.states.push_back({position, use, std::move(block)});
    return {};
  };
  pending.log_begin = history.base.position;
  const bool outgrown = end - history.base.position > reach_rows_;
  if (outgrown && end - half >= pending.span.position && end - half <= last_allowed) {
    pending.log_begin = end - half;
    return copy_out(end - half, PlannedState::kNewBase);
  }
  pending.promote_next_base = outgrown && history.next_base.has_value();
  if (pending.promote_next_base) pending.log_begin = history.next_base->position;
  const bool keeps_next = history.next_base.has_value() && !pending.promote_next_base;
  if (keeps_next) return {};
  return copy_out(std::max(pending.span.position, pending.log_begin + half), PlannedState::kNextBase);
}

// Checkpoints inside the step need a state: one that is copied out anyway, or the log's base, when the rows
// from there are short; else one of their own, as far as there is room for it.
void Memory::plan_checkpoints(PendingSequence& pending, const Sequence& sequence) {
  const size_t end = pending.end() - pending.may_reject;
  wanted_checkpoints(sequence, pending.span.position, end, pending.checkpoints);
  if (!layout_.has_recurrent()) return;
  const size_t near = layout_.state_bytes() / 4 / layout_.row_bytes();
  for (const size_t position : pending.checkpoints) {
    if (position == pending.end()) continue;  // the working state will be there
    const auto serves = [&](size_t base) {
      return base <= position && (base == position || (base >= pending.log_begin && position - base <= near));
    };
    const bool served =
        serves(pending.log_begin) || std::ranges::any_of(pending.states, serves, &PlannedState::position);
    if (served) continue;
    prompt_tokens_.assign(sequence.history->tokens.begin(), sequence.history->tokens.end());
    prompt_tokens_.insert(prompt_tokens_.end(), pending.tokens.begin(),
                          pending.tokens.begin() + static_cast<ptrdiff_t>(position - pending.span.position));
    const double worth = tree_.worth(sequence.partition, prompt_tokens_, layout_.state_bytes());
    if (BlockRef block = allocate_if_worth(layout_.state_bytes(), worth)) {
      pending.states.push_back({position, PlannedState::kCheckpoint, std::move(block)});
    } else {
      count_not_kept();
    }
  }
  std::ranges::sort(pending.states, {}, &PlannedState::position);
  for (const PlannedState& planned : pending.states) {
    pending.snapshots.push_back({planned.position - pending.span.position, planned.block.floats()});
  }
}

Status Memory::plan_rows(PendingSequence& pending, const History& history) {
  const size_t begin = std::max(pending.log_begin, pending.span.position);
  pending.first_row_page = begin / kRowPageTokens;
  const size_t page_count = ceil_div(pending.end(), kRowPageTokens);
  pending.rows.assign(pending.span.tokens, nullptr);
  for (size_t i = pending.first_row_page; i < page_count; ++i) {
    const bool exists = !history.row_pages.empty() && i >= history.first_row_page &&
                        i - history.first_row_page < history.row_pages.size();
    OXBOW_ASSIGN(std::byte * page,
                 writable_page(pending.id, exists ? &history.row_pages[i - history.first_row_page] : nullptr,
                               layout_.row_page_bytes(), pending.new_row_pages));
    const size_t first = std::max(i * kRowPageTokens, begin);
    const size_t last = std::min((i + 1) * kRowPageTokens, pending.end());
    for (size_t position = first; position < last; ++position) {
      pending.rows[position - pending.span.position] =
          reinterpret_cast<float*>(page) + position % kRowPageTokens * layout_.row_floats();
    }
  }
  return {};
}

Status Memory::plan_state(PendingSequence& pending, Sequence& sequence) {
  const bool own = sequence.working && !sequence.working.is_shared();
  if (!own) {
    OXBOW_ASSIGN(pending.new_working, allocate(pending.id, layout_.state_bytes(), "a recurrent state"));
  }
  pending.state = own ? sequence.working.floats() : pending.new_working.floats();
  if (sequence.working_position == pending.span.position) {
    pending.source = sequence.working.floats();
    return {};
  }
  const History& history = *sequence.history;
  const Base& base = history.base_before(pending.span.position);
  pending.source = base.block ? base.block.floats() : nullptr;
  for (size_t position = base.position; position < pending.span.position; ++position) {
    pending.replay.push_back(history.row(position, layout_.row_floats()));
  }
  return {};
}

Result<std::byte*> Memory::writable_page(SequenceId sequence, const BlockRef* existing, size_t size_bytes,
                                         std::vector<BlockRef>& replacements) {
  if (existing != nullptr && !existing->is_shared()) {
    replacements.emplace_back();  // stays as it is
    return existing->data();
  }
  OXBOW_ASSIGN(BlockRef page, allocate(sequence, size_bytes, "a page"));
  if (existing != nullptr) std::memcpy(page.data(), existing->data(), size_bytes);
  std::byte* data = page.data();
  replacements.push_back(std::move(page));
  return data;
}

Result<BlockRef> Memory::allocate(SequenceId sequence, size_t size_bytes, const char* what) {
  BlockRef block = allocate_if_worth(size_bytes, std::numeric_limits<double>::infinity());
  if (block) return block;
  return fail(ErrorKind::kOutOfBudget,
              "sequence {} needs {} bytes for {}; {} of the {} bytes of the memory budget are free", sequence,
              size_bytes, what, pool_.free_bytes(), pool_.budget_bytes());
}

BlockRef Memory::allocate_if_worth(size_t size_bytes, double worth) {
  for (;;) {
    const size_t free_before = pool_.free_bytes();
    BlockRef block = pool_.allocate(size_bytes);
    if (block || free_before >= size_bytes + pool_.kSlackBytes || !give_way(worth)) return block;
  }
}

bool Memory::reserve_if_worth(size_t size_bytes, double worth) {
  if (size_bytes > pool_.budget_bytes()) return false;
  while (!pool_.reserve(size_bytes)) {
    if (!give_way(worth)) return false;
  }
  return true;
}

bool Memory::give_way(double worth) {
  const bool required = !std::isfinite(worth);
  PrefixTree::Entry* victim = tree_.victim(worth);
  const bool helps = victim != nullptr ? PrefixTree::frees_memory(*victim) : !required;
  if (!helps && reclaimer_ && reclaimer_(required)) return true;
  if (victim == nullptr) {
    if (!required) tree_.pass_over(worth);
    return false;
  }
  evict(*victim);
  return true;
}

void Memory::fill_views() {
  StepPlan& plan = plan_;
  plan.spans.clear();
  plan.attention_sequences.resize(layout_.groups().size());
  for (auto& sequences : plan.attention_sequences) sequences.clear();
  plan.recurrent_sequences.clear();
  for (size_t i = 0; i < plan.count; ++i) {
    PendingSequence& pending = plan.sequences[i];
    plan.spans.push_back(pending.span);
    for (size_t g = 0; g < pending.page_tables.size(); ++g) {
      plan.attention_sequences[g].push_back({pending.span, pending.page_tables[g].data()});
    }
    if (!layout_.has_recurrent()) continue;
    plan.recurrent_sequences.push_back({pending.span, pending.state, pending.source, pending.replay,
                                        pending.rows.data(), pending.snapshots});
  }
  plan.attention.clear();
  for (const KvPlace& place : layout_.kv()) {
    plan.attention.push_back({plan.attention_sequences[place.group], place.k_offset, place.v_offset,
                              place.k_head_bytes, place.v_head_bytes, layout_.types().key,
                              layout_.types().value});
  }
  plan.recurrent.clear();
  for (const RecurrentPlace& place : layout_.recurrent()) {
    plan.recurrent.push_back({plan.recurrent_sequences, place.state_offset, place.row_offset,
                              place.state_floats, place.row_floats});
  }
  plan.views.spans = plan.spans;
  plan.views.attention = plan.attention;
  plan.views.recurrent = plan.recurrent;
}

}  // namespace oxbow::memory
