#include "memory/memory.h"

#include <algorithm>

#include "base/check.h"
#include "memory/block_pool.h"

namespace oxbow::memory {
namespace {

constexpr size_t kMinimumReachRows = 32;  // half of it, 16 rows, can always be rewound

size_t reach_rows_for(const MemoryLayout& layout, size_t rewind_bytes) {
  if (!layout.has_recurrent()) {
    size_t window = 0;
    for (const KvGroup& group : layout.groups()) window = std::max(window, group.window_tokens);
    const size_t bytes = rewind_bytes > 0 ? rewind_bytes : window * layout.kv_bytes_per_token();
    return std::max(kMinimumReachRows, bytes / std::max<size_t>(layout.kv_bytes_per_token(), 1));
  }
  const size_t bytes = rewind_bytes > 0 ? rewind_bytes : 2 * layout.state_bytes();
  return std::max(kMinimumReachRows, bytes / std::max<size_t>(layout.row_bytes(), 1));
}

tl::unexpected<Error> unknown_sequence(SequenceId sequence) {
  return fail(ErrorKind::kNotFound, "there is no sequence {}", sequence);
}

}  // namespace

Memory::Memory(std::span<const StateSpec> specs, const MemoryOptions& options)
    : layout_(specs, options.kv),
      options_(options),
      pool_(options.budget_bytes, options.poison),
      reach_rows_(reach_rows_for(layout_, options.rewind_bytes)) {}

Memory::~Memory() {
  OXBOW_CHECK(!plan_.active);
}

Memory::Sequence* Memory::find(SequenceId sequence) {
  const auto found = sequences_.find(sequence);
  return found == sequences_.end() ? nullptr : &found->second;
}

const Memory::Sequence* Memory::find(SequenceId sequence) const {
  return const_cast<Memory*>(this)->find(sequence);
}

std::shared_ptr<History> Memory::empty_history() const {
  auto history = std::make_shared<History>();
  history->pages.resize(layout_.groups().size());
  return history;
}

SequenceId Memory::create(std::string_view partition, bool keeps) {
  const SequenceId id = next_id_++;
  Sequence& sequence = sequences_[id];
  sequence.partition = partition;
  sequence.keeps = keeps;
  sequence.history = empty_history();
  return id;
}

void Memory::adopt(Sequence& sequence, const PrefixTree::Entry& entry, std::span<const TokenId> tokens) {
  sequence.history = std::make_shared<History>(entry.checkpoint.clone(tokens.size()), tokens);
  sequence.length = tokens.size();
  sequence.working_position = kInvalid;
}

void Memory::cut(Sequence& sequence, size_t position) {
  if (position == 0) {
    sequence.history = empty_history();
    sequence.length = 0;
    sequence.working_position = kInvalid;
    return;
  }
  if (position < sequence.history->floor(layout_)) {
    const std::vector<TokenId> tokens(sequence.history->tokens.begin(),
                                      sequence.history->tokens.begin() + static_cast<ptrdiff_t>(position));
    const auto match = tree_.match(sequence.partition, tokens, position);
    if (match.entry == nullptr) return cut(sequence, 0);
    use_checkpoint(*match.entry);
    return adopt(sequence, *match.entry, std::span(tokens).first(match.reused));
  }
  if (sequence.working_position != position) sequence.working_position = kInvalid;
  sequence.length = position;
  if (sequence.history.use_count() == 1) sequence.history->trim(position);
}

Result<SequenceId> Memory::fork(SequenceId id, size_t position) {
  const Sequence* parent = find(id);
  if (parent == nullptr) return unknown_sequence(id);
  if (position > parent->length) {
    return fail(ErrorKind::kInvalidInput, "sequence {} cannot be forked at {}: it has {} tokens", id,
                position, parent->length);
  }
  if (plan_.active) return fail(ErrorKind::kInvalidState, "sequence {} cannot be forked during a step", id);
  Sequence child;
  child.partition = parent->partition;
  child.keeps = parent->keeps;
  child.history = parent->history;
  child.length = position;
  if (parent->working_position == position) {
    child.working = parent->working.share();
    child.working_position = position;
  }
  cut(child, position);
  const SequenceId child_id = next_id_++;
  sequences_.emplace(child_id, std::move(child));
  return child_id;
}

Result<size_t> Memory::truncate(SequenceId id, size_t position) {
  Sequence* sequence = find(id);
  if (sequence == nullptr) return unknown_sequence(id);
  if (position > sequence->length) {
    return fail(ErrorKind::kInvalidInput, "sequence {} cannot be cut to {}: it has {} tokens", id, position,
                sequence->length);
  }
  if (plan_.active) return fail(ErrorKind::kInvalidState, "sequence {} cannot be cut during a step", id);
  if (position < sequence->length) cut(*sequence, position);
  return sequence->length;
}

Status Memory::drop(SequenceId id) {
  if (find(id) == nullptr) return unknown_sequence(id);
  if (plan_.active) return fail(ErrorKind::kInvalidState, "sequence {} cannot be dropped during a step", id);
  sequences_.erase(id);
  return {};
}

Result<size_t> Memory::length(SequenceId id) const {
  const Sequence* sequence = find(id);
  if (sequence == nullptr) return unknown_sequence(id);
  return sequence->length;
}

Result<std::span<const TokenId>> Memory::tokens(SequenceId id) const {
  const Sequence* sequence = find(id);
  if (sequence == nullptr) return unknown_sequence(id);
  return std::span<const TokenId>(sequence->history->tokens).first(sequence->length);
}

Result<size_t> Memory::reach(SequenceId id) const {
  const Sequence* sequence = find(id);
  if (sequence == nullptr) return unknown_sequence(id);
  return sequence->history->floor(layout_);
}

Status Memory::reserve_scratch(size_t size_bytes) {
  if (pool_.reserve(size_bytes)) {
    scratch_bytes_ += size_bytes;
    return {};
  }
  return fail(ErrorKind::kOutOfBudget,
              "the working buffers need {} bytes; {} of the {} bytes of the memory budget are free",
              size_bytes, pool_.free_bytes(), pool_.budget_bytes());
}

void Memory::own_history(Sequence& sequence) {
  if (sequence.history.use_count() > 1) {
    sequence.history = std::make_shared<History>(sequence.history->clone(sequence.length));
  } else if (sequence.history->length > sequence.length) {
    sequence.history->trim(sequence.length);
  }
}

// ---- Step
// -------------------------------------------------------------------------------------------------------

Step::~Step() {
  if (memory_ != nullptr) memory_->abandon();
}

const StepViews& Step::views() const {
  return memory_->plan_.views;
}

void Step::commit() {
  StepPlan& plan = memory_->plan_;
  for (size_t i = 0; i < plan.count; ++i)
    memory_->commit_entry(plan.sequences[i], plan.sequences[i].span.tokens);
  plan.active = false;
  memory_ = nullptr;
}

void Step::commit(std::span<const size_t> accepted) {
  StepPlan& plan = memory_->plan_;
  OXBOW_CHECK(accepted.size() == plan.count);
  for (size_t i = 0; i < plan.count; ++i) {
    const PendingSequence& pending = plan.sequences[i];
    OXBOW_CHECK(accepted[i] <= pending.span.tokens &&
                accepted[i] + pending.may_reject >= pending.span.tokens);
    memory_->commit_entry(plan.sequences[i], accepted[i]);
  }
  plan.active = false;
  memory_ = nullptr;
}

}  // namespace oxbow::memory
