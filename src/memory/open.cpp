// Finding and keeping checkpoints: how a sequence gets what an earlier one has computed.

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "base/log.h"
#include "memory/memory.h"

namespace oxbow::memory {
namespace {

constexpr size_t kWorthKeepingTokens = 16;  // a checkpoint that would save less is not kept at a junction

}  // namespace

Result<Opened> Memory::open(std::span<const TokenId> prompt, std::span<const size_t> boundaries,
                            std::string_view partition) {
  const SequenceId id = create(partition);
  auto opened = reopen(id, prompt, boundaries);
  if (!opened) (void)drop(id);
  return opened;
}

Result<Opened> Memory::reopen(SequenceId id, std::span<const TokenId> prompt,
                              std::span<const size_t> boundaries) {
  Sequence* sequence = find(id);
  if (sequence == nullptr) return fail(ErrorKind::kNotFound, "there is no sequence {}", id);
  if (prompt.empty()) return fail(ErrorKind::kInvalidInput, "the prompt has no tokens");
  if (plan_.active) return fail(ErrorKind::kInvalidState, "sequence {} cannot be moved during a step", id);
  const auto held = std::span<const TokenId>(sequence->history->tokens).first(sequence->length);
  const auto common = static_cast<size_t>(std::ranges::mismatch(held, prompt).in1 - held.begin());
  const size_t limit = prompt.size() - 1;
  const size_t wanted = std::min(common, limit);
  const size_t in_place = wanted >= sequence->history->floor(layout_) ? wanted : 0;

  PrefixTree::Match match = tree_.match(sequence->partition, prompt, limit);
  if (match.entry != nullptr && (match.entry->checkpoint.length < match.reused ||
                                 match.entry->checkpoint.floor(layout_) > match.reused)) {
    tree_.remove(*match.entry, Miss::kVerifyFailed);
    match.entry = nullptr;
    match.reused = 0;
    match.miss = Miss::kVerifyFailed;
  }
  Opened opened{id, std::max(common, match.matched), 0, match.miss};
  if (match.entry != nullptr && match.reused > in_place) {
    use_checkpoint(*match.entry);
    adopt(*sequence, *match.entry, prompt.first(match.reused));
    opened.reused = match.reused;
  } else {
    if (in_place < sequence->length) cut(*sequence, in_place);
    opened.reused = in_place;
    if (in_place == std::min(opened.matched, limit) && in_place > 0) {
      opened.miss = opened.matched >= limit ? Miss::kNone : Miss::kDiverged;
    }
  }
  set_marks(*sequence, prompt, boundaries, opened);
  count_opened(opened, prompt.size());
  return opened;
}

void Memory::count_opened(const Opened& opened, size_t prompt_tokens) {
  ++totals_.prompts;
  totals_.prompt_tokens += prompt_tokens;
  totals_.matched_tokens += opened.matched;
  totals_.reused_tokens += opened.reused;
  totals_.missed_tokens[static_cast<size_t>(opened.miss)] += prompt_tokens - 1 - opened.reused;
}

void Memory::count_not_kept() {
  ++totals_.not_kept;
  if (warned_inert_ || totals_.kept > 0) return;
  warned_inert_ = true;
  log(LogLevel::kWarning, "memory",
      "the memory budget of {} bytes has no room for a checkpoint of {} bytes beside what runs: prompts will "
      "be evaluated whole each time",
      pool_.budget_bytes(), layout_.state_bytes());
}

void Memory::set_marks(Sequence& sequence, std::span<const TokenId> prompt,
                       std::span<const size_t> boundaries, const Opened& opened) const {
  sequence.marks.clear();
  const auto mark = [&](size_t position) {
    if (position > opened.reused && position < prompt.size()) sequence.marks.push_back(position);
  };
  for (const size_t boundary : boundaries) mark(boundary);
  if (opened.matched >= opened.reused + kWorthKeepingTokens) mark(opened.matched);
  mark(prompt.size() - 1);
  std::ranges::sort(sequence.marks);
  sequence.marks.erase(std::unique(sequence.marks.begin(), sequence.marks.end()), sequence.marks.end());
}

void Memory::wanted_checkpoints(const Sequence& sequence, size_t from, size_t to,
                                std::vector<size_t>& out) const {
  if (!sequence.keeps) return;
  for (const size_t mark : sequence.marks) {
    if (mark > from && mark <= to) out.push_back(mark);
  }
  if (options_.first_checkpoint > 0) {
    for (size_t position = options_.first_checkpoint; position <= to; position += position / 2 + 1) {
      if (position > from) out.push_back(position);
    }
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

Status Memory::keep(SequenceId id) {
  const Sequence* sequence = find(id);
  if (sequence == nullptr) return fail(ErrorKind::kNotFound, "there is no sequence {}", id);
  if (plan_.active) return fail(ErrorKind::kInvalidState, "sequence {} cannot be kept during a step", id);
  if (sequence->length > 0 && sequence->keeps) keep_checkpoint(*sequence, sequence->length, {});
  return {};
}

std::optional<Base> Memory::checkpoint_base(const Sequence& sequence, size_t position,
                                            std::span<const PlannedState> states) const {
  const History& history = *sequence.history;
  const Base* nearest = history.base.position <= position ? &history.base_before(position) : nullptr;
  std::optional<Base> base;
  if (nearest != nullptr) base = nearest->share();
  for (const PlannedState& planned : states) {
    const bool usable = planned.position == position ||
                        (planned.position < position && planned.position >= history.base.position);
    if (usable && (!base || planned.position >= base->position))
      base = Base{planned.block.share(), planned.position};
  }
  if (sequence.working_position != position || (base && base->position == position)) return base;
  // The end of the sequence: its working state can be shared as it is. That costs a state; rows from a base
  // that others keep anyway may cost less.
  const bool base_is_kept = base && (!base->block || base->block.references() > 2);
  const size_t row_bytes = base ? (position - base->position) * layout_.row_bytes() : 0;
  if (base_is_kept && row_bytes <= layout_.state_bytes() / 2) return base;
  return Base{sequence.working.share(), position};
}

void Memory::keep_checkpoint(const Sequence& sequence, size_t position,
                             std::span<const PlannedState> states) {
  const History& history = *sequence.history;
  const auto tokens = std::span<const TokenId>(history.tokens).first(position);
  Base base;
  if (layout_.has_recurrent()) {
    auto found = checkpoint_base(sequence, position, states);
    if (!found) return tree_.leave_trace(sequence.partition, tokens, Miss::kOverBudget);
    base = std::move(*found);
  }
  Checkpoint checkpoint = history.clone_from(std::move(base), position, layout_);
  if (!layout_.has_recurrent()) checkpoint.drop_pages_before(position, layout_);
  const size_t floor = checkpoint.floor(layout_);
  const bool asked_for = position == sequence.length || std::ranges::binary_search(sequence.marks, position);
  ++totals_.kept;
  const PrefixTree::Entry* entry = tree_.insert(sequence.partition, tokens, std::move(checkpoint), floor);
  if (observer_ && asked_for) observer_(sequence.partition, tokens, entry->checkpoint, Occasion::kKept);
}

void Memory::use_checkpoint(PrefixTree::Entry& entry) {
  tree_.touch(entry);
  if (!observer_) return;
  observer_(PrefixTree::partition_of(entry), PrefixTree::tokens_of(entry), entry.checkpoint, Occasion::kUsed);
}

void Memory::evict(size_t count) {
  for (; count > 0; --count) {
    PrefixTree::Entry* victim = tree_.victim(std::numeric_limits<double>::infinity());
    if (victim == nullptr) return;
    evict(*victim);
  }
}

void Memory::evict(PrefixTree::Entry& victim) {
  ++totals_.evicted;
  totals_.evicted_bytes += victim.bytes;
  tree_.evict(victim);
}

MemoryUse Memory::use() const {
  MemoryUse use;
  use.scratch_bytes = scratch_bytes_;
  use.sequences = sequences_.size();
  use.checkpoints = tree_.size();
  use.totals = totals_;
  std::unordered_set<const void*> seen;
  size_t* holder = &use.sequence_bytes;
  const auto count = [&](const BlockRef& block, size_t& kind) {
    if (!block || !seen.insert(block.data()).second) return;
    *holder += block.size_bytes();
    kind += block.size_bytes();
  };
  const auto count_all = [&](const Checkpoint& checkpoint) {
    for (size_t g = 0; g < checkpoint.pages.size(); ++g) {
      const bool window = layout_.groups()[g].window_tokens > 0;
      for (const BlockRef& block : checkpoint.pages[g].blocks)
        count(block, window ? use.window_page_bytes : use.page_bytes);
    }
    count(checkpoint.base.block, use.state_bytes);
    if (checkpoint.next_base) count(checkpoint.next_base->block, use.state_bytes);
    for (const BlockRef& block : checkpoint.row_pages) count(block, use.row_bytes);
  };
  for (const auto& [id, sequence] : sequences_) {
    count_all(*sequence.history);
    count(sequence.working, use.state_bytes);
  }
  holder = &use.checkpoint_bytes;
  for (const PrefixTree::Entry* entry : tree_.entries()) count_all(entry->checkpoint);
  return use;
}

}  // namespace oxbow::memory
