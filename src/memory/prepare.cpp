// Memory::prepare: everything a step needs is reserved here, and nothing that exists is changed.

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "memory/memory.h"

namespace oxbow::memory {

void PendingSequence::reset() {
  tokens.clear();
  for (auto& group : new_pages) group.clear();
  for (auto& table : page_tables) table.clear();
  promote_next_base = has_snapshot = snapshot_becomes_base = false;
  snapshot = BlockRef();
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
  if (!layout_.has_recurrent()) return {};
  plan_bases(pending, *sequence->history);
  OXBOW_TRY(plan_rows(pending, *sequence->history));
  return plan_state(pending, *sequence);
}

Status Memory::plan_pages(PendingSequence& pending, const History& history) {
  const size_t groups = layout_.groups().size();
  pending.new_pages.resize(groups);
  pending.page_tables.resize(groups);
  pending.first_page = pending.span.position / kPagePositions;
  const size_t page_count = ceil_div(pending.end(), kPagePositions);
  for (size_t g = 0; g < groups; ++g) {
    const std::vector<BlockRef>& pages = history.pages[g];
    std::vector<std::byte*>& table = pending.page_tables[g];
    for (size_t i = 0; i < pending.first_page; ++i) table.push_back(pages[i].data());
    for (size_t i = pending.first_page; i < page_count; ++i) {
      OXBOW_ASSIGN(std::byte * page, writable_page(pending.id, i < pages.size() ? &pages[i] : nullptr,
                                                   layout_.groups()[g].page_bytes, pending.new_pages[g]));
      table.push_back(page);
    }
  }
  return {};
}

// Where the log starts after this step. With R = reach_rows_: a long chunk leaves a base R/2 before its end;
// token by token, a second base is laid R/2 behind the first and takes over when the log has grown to R. So
// at least R/2 rows (or the whole sequence) can always be rewound, and the log stays near R rows.
void Memory::plan_bases(PendingSequence& pending, const History& history) const {
  const size_t half = reach_rows_ / 2;
  const size_t end = pending.end();
  const size_t last_allowed = std::min(end - 1, end - pending.may_reject);
  const auto snapshot_at = [&](size_t position, bool becomes_base) {
    if (position > last_allowed) return;
    pending.has_snapshot = true;
    pending.snapshot_position = position;
    pending.snapshot_becomes_base = becomes_base;
  };
  const bool outgrown = end - history.base.position > reach_rows_;
  if (outgrown && end - half >= pending.span.position && end - half <= last_allowed) {
    snapshot_at(end - half, true);
    return;
  }
  pending.promote_next_base = outgrown && history.next_base.has_value();
  const bool keeps_next = history.next_base.has_value() && !pending.promote_next_base;
  if (keeps_next) return;
  const size_t base = pending.promote_next_base ? history.next_base->position : history.base.position;
  snapshot_at(std::max(pending.span.position, base + half), false);
}

Status Memory::plan_rows(PendingSequence& pending, const History& history) {
  const size_t begin = pending.snapshot_becomes_base ? pending.snapshot_position : pending.span.position;
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
  if (pending.has_snapshot) {
    OXBOW_ASSIGN(pending.snapshot, allocate(pending.id, layout_.state_bytes(), "a recurrent state"));
  }
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
  BlockRef block = pool_.allocate(size_bytes);
  if (block) return block;
  return fail(ErrorKind::kOutOfBudget,
              "sequence {} needs {} bytes for {}; {} of the {} bytes of the memory budget are free", sequence,
              size_bytes, what, pool_.free_bytes(), pool_.budget_bytes());
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
    plan.recurrent_sequences.push_back(
        {pending.span, pending.state, pending.source, pending.replay, pending.rows.data(),
         pending.snapshot.floats(),
         pending.has_snapshot ? pending.snapshot_position - pending.span.position : 0});
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
