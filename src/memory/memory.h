#pragma once
// The hybrid memory: sequences whose recurrent state can be rewound and forked as freely as their keys and
// values.
//
// One thread owns a Memory. No call fails half way: an error leaves everything as it was.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "memory/admission.h"
#include "memory/block_pool.h"
#include "memory/history.h"
#include "memory/layout.h"
#include "memory/prefix_tree.h"
#include "memory/snapshot.h"
#include "memory/step_plan.h"
#include "memory/views.h"

namespace oxbow::memory {

using SequenceId = uint32_t;

struct MemoryOptions {
  size_t budget_bytes = 0;
  size_t rewind_bytes = 0;  // log rows a sequence keeps; 0: as many bytes as two states
  KvTypes kv;
  size_t first_checkpoint = 0;  // tokens before the first spaced checkpoint, each next one 1.5 times further
                                // on; 0: none but those asked for
  bool poison = false;          // see BlockPool
};

// A sequence made for a prompt. The caller evaluates prompt[reused ...].
struct Opened {
  SequenceId sequence = 0;
  size_t matched = 0;  // leading tokens of the prompt that were known
  size_t reused = 0;   // of those, held by the sequence; less than the prompt's length
  Miss miss = Miss::kCold;
};

// A sequence made from a saved one.
struct Restored {
  SequenceId sequence = 0;
  std::vector<TokenId> tokens;  // all that were saved
  size_t restored = 0;          // the sequence holds this many of them
};

// Counts since the memory was made.
struct MemoryTotals {
  uint64_t prompts = 0;  // opened and reopened
  uint64_t prompt_tokens = 0;
  uint64_t matched_tokens = 0;  // of those, known
  uint64_t reused_tokens = 0;
  std::array<uint64_t, kMissReasons> missed_tokens{};  // not reused, the last token aside, by Miss
  uint64_t kept = 0;                                   // checkpoints
  uint64_t not_kept = 0;                               // for want of room
  uint64_t admitted = 0;                               // from stores and files
  uint64_t evicted = 0;
  uint64_t evicted_bytes = 0;  // what they held alone
};

// What the bytes of the budget are used for; blocks that several hold are counted once, at the first of these
// that holds them. A copy of what the memory's thread knows: take it there, read it anywhere.
struct MemoryUse {
  size_t scratch_bytes = 0;
  size_t sequence_bytes = 0;
  size_t checkpoint_bytes = 0;
  size_t sequences = 0;
  size_t checkpoints = 0;
  // The bytes of sequences and checkpoints, by kind.
  size_t page_bytes = 0;         // keys and values
  size_t window_page_bytes = 0;  // those of layers that see a window
  size_t state_bytes = 0;
  size_t row_bytes = 0;
  MemoryTotals totals;
};

// New tokens of one sequence. The last may_reject of them may be taken back at commit.
struct BatchEntry {
  SequenceId sequence = 0;
  std::span<const TokenId> tokens;
  size_t may_reject = 0;
};

class Memory;

// A prepared step: memory is reserved and the views are filled. Destroying it without commit abandons it,
// which leaves every sequence as it was. At most one exists at a time, and the Memory outlives it.
class Step {
 public:
  Step(Step&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  Step& operator=(Step&&) = delete;
  ~Step();

  const StepViews& views() const;
  // Moves every sequence forward by all its tokens, after the forward pass has filled the views.
  void commit();
  // Entry i moves by accepted[i] tokens only, at least its tokens - may_reject.
  void commit(std::span<const size_t> accepted);

 private:
  friend class Memory;
  explicit Step(Memory* memory) : memory_(memory) {}
  Memory* memory_;
};

class Memory {
 public:
  Memory(std::span<const StateSpec> specs, const MemoryOptions& options);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // An empty sequence. Costs nothing until it runs. Checkpoints are found again only by sequences of the same
  // partition (a caller's salt: nobody learns of another's prompts).
  // keeps: whether checkpoints of it and of its forks are kept at all.
  SequenceId create(std::string_view partition = {}, bool keeps = true);
  // A sequence that holds as much of the prompt as is known and can be resumed; its last token is never held.
  // Checkpoints will be kept at the boundaries (ascending positions in the prompt, such as ends of messages),
  // where the prompt leaves what is known, and before its last token. kInvalidInput without tokens.
  Result<Opened> open(std::span<const TokenId> prompt, std::span<const size_t> boundaries = {},
                      std::string_view partition = {});
  // Brings an existing sequence to a prompt as `open` does, cutting it in place where that reuses as much.
  Result<Opened> reopen(SequenceId sequence, std::span<const TokenId> prompt,
                        std::span<const size_t> boundaries = {});
  // Forgets what is kept of `tokens` from the last place on at which another known text parts from them; all
  // of it stays when a known text goes on behind them.
  void forget(std::span<const TokenId> tokens, std::string_view partition) {
    tree_.forget(partition, tokens);
  }
  // Keeps a checkpoint at the sequence's end, as long as the budget allows.
  Status keep(SequenceId sequence);
  // A sequence that shares the first `position` tokens of another; neither sees the other's later tokens.
  // Where the recurrent state of `position` is out of reach, the new sequence holds fewer: see `length`, and
  // evaluate the missing tokens again to get the same bits. kNotFound, kInvalidInput beyond the end. Cost
  // independent of the length, up to copying its token ids.
  Result<SequenceId> fork(SequenceId sequence, size_t position);
  // Cuts a sequence to `position` tokens, or to fewer as fork does. Returns the tokens it now holds.
  Result<size_t> truncate(SequenceId sequence, size_t position);
  // Takes tokens [begin, end) out; returns the tokens it then holds. At the end of the sequence that is
  // truncate. In the middle it is refused for every model (kUnsupported), never done wrongly: what follows
  // was computed from them. Reopen the sequence with the tokens that are left instead.
  Result<size_t> remove(SequenceId sequence, size_t begin, size_t end);
  Status drop(SequenceId sequence);

  // Writes a sequence and the kept checkpoints on its way as sections of a container.
  Status save(SequenceId sequence, stores::ContainerWriter& writer) const;
  // A new sequence from such sections; also keeps their checkpoints, as far as they are worth their room. The
  // container must come from the same model and numeric settings. kInvalidInput when the sections are
  // damaged, kOutOfBudget when the sequence does not fit; then nothing has changed, except that checkpoints
  // may have been evicted.
  Result<Restored> restore(const stores::ContainerReader& reader, std::string_view partition = {});

  // Takes in, part by part, the checkpoint after `tokens` (at least one) that a store has.
  Admission admission(std::span<const TokenId> tokens, std::string_view partition);
  // The same at once: an object of snapshot_sections() and its segments, from the first
  // token on. Errors as of restore; kOutOfBudget when it is worth less than what stands in its place.
  Status admit(std::span<const TokenId> tokens, const stores::ContainerReader& reader,
               std::span<const stores::ContainerReader* const> segments, std::string_view partition);
  // Called with each checkpoint that was asked for (not those of the spacing) when it is kept, and with any
  // when it has served a sequence; never when one is evicted, because what shares its blocks would keep them
  // from being freed (docs/decisions/0005). It must not call the memory.
  enum class Occasion { kKept, kUsed };
  using Observer = std::function<void(std::string_view partition, std::span<const TokenId> tokens,
                                      const Checkpoint& checkpoint, Occasion occasion)>;
  void set_observer(Observer observer) { observer_ = std::move(observer); }
  // Called when memory is needed and no checkpoint that goes would free any: lets go of something else that
  // shares its blocks or counts against the budget; false when there is nothing. required: a sequence needs
  // it, else it is for something that is kept if there is room. It may destroy admissions, but only when
  // required, and must not call the memory otherwise.
  using Reclaimer = std::function<bool(bool required)>;
  void set_reclaimer(Reclaimer reclaimer) { reclaimer_ = std::move(reclaimer); }
  // What is known of a prompt, changing nothing.
  PrefixTree::Match known(std::span<const TokenId> prompt, std::string_view partition) const {
    return tree_.match(partition, prompt, prompt.empty() ? 0 : prompt.size() - 1);
  }

  // Tokens held; kNotFound for an unknown sequence, as all calls.
  Result<size_t> length(SequenceId sequence) const;
  Result<std::span<const TokenId>> tokens(SequenceId sequence) const;
  // The first position that truncate reaches without evaluating anything.
  Result<size_t> reach(SequenceId sequence) const;

  // Reserves pages, log rows, states and views for one step. kOutOfBudget names the sequence and both
  // numbers. A sequence may stand in the batch once; entries without tokens are refused.
  Result<Step> prepare(std::span<const BatchEntry> batch);

  // Counts bytes that the forward pass holds (scratch) against the budget.
  Status reserve_scratch(size_t size_bytes);

  const MemoryLayout& layout() const { return layout_; }
  const BlockPool& pool() const { return pool_; }
  const PrefixTree& tree() const { return tree_; }
  // Visits every block.
  MemoryUse use() const;
  const MemoryTotals& totals() const { return totals_; }
  // Evicts the `count` checkpoints that are worth least; all with SIZE_MAX.
  void evict(size_t count);
  // Rows a sequence keeps at most before its log moves on; at least half of it can be rewound.
  size_t reach_rows() const { return reach_rows_; }

 private:
  friend class Admission;
  friend class Step;
  static constexpr size_t kInvalid = SIZE_MAX;

  struct Sequence {
    std::string partition;
    bool keeps = true;
    std::vector<size_t> marks;  // positions at which checkpoints are wanted, ascending
    std::shared_ptr<History> history;
    size_t length = 0;  // <= history->length()
    // The state after `working_position` tokens, updated in place by steps: a cache that base and rows can
    // rebuild. Shared between forks until one of them runs.
    BlockRef working;
    size_t working_position = kInvalid;
  };

  Sequence* find(SequenceId sequence);
  const Sequence* find(SequenceId sequence) const;
  std::shared_ptr<History> empty_history() const;
  // Cuts to `position`, or, when its state is out of reach, to the best checkpoint before it.
  void cut(Sequence& sequence, size_t position);
  void adopt(Sequence& sequence, const PrefixTree::Entry& entry, std::span<const TokenId> tokens);
  void set_marks(Sequence& sequence, std::span<const TokenId> prompt, std::span<const size_t> boundaries,
                 const Opened& opened) const;
  // Afterwards the sequence's history is its own and ends at its length.
  void own_history(Sequence& sequence);

  // Positions in (from, to] at which the sequence wants a checkpoint.
  void wanted_checkpoints(const Sequence& sequence, size_t from, size_t to, std::vector<size_t>& out) const;
  // The base of a checkpoint at `position`; none when no state is near.
  std::optional<Base> checkpoint_base(const Sequence& sequence, size_t position,
                                      std::span<const PlannedState> states) const;
  void keep_checkpoint(const Sequence& sequence, size_t position, std::span<const PlannedState> states);

  Status plan_entry(const BatchEntry& entry, size_t first_row, PendingSequence& pending);
  Status plan_pages(PendingSequence& pending, const History& history);
  Status plan_bases(PendingSequence& pending, const History& history);
  void plan_checkpoints(PendingSequence& pending, const Sequence& sequence);
  Status plan_rows(PendingSequence& pending, const History& history);
  Status plan_state(PendingSequence& pending, Sequence& sequence);
  // A page to write at and after a position that may lie inside it: the existing one when nobody else holds
  // it, a copy when somebody does, or a new one.
  Result<std::byte*> writable_page(SequenceId sequence, const BlockRef* existing, size_t size_bytes,
                                   std::vector<BlockRef>& replacements);
  // Evicts checkpoints until the bytes are free.
  Result<BlockRef> allocate(SequenceId sequence, size_t size_bytes, const char* what);
  // Evicts checkpoints that are worth less; an empty reference when that is not enough.
  BlockRef allocate_if_worth(size_t size_bytes, double worth);
  bool reserve_if_worth(size_t size_bytes, double worth);
  // Counts the use of a checkpoint that serves a sequence.
  void use_checkpoint(PrefixTree::Entry& entry);
  void count_opened(const Opened& opened, size_t prompt_tokens);
  void evict(PrefixTree::Entry& victim);
  // No checkpoint could be kept. Warns, once, when none ever was.
  void count_not_kept();
  // Evicts one checkpoint that is worth less, or has others let go; false when there is nothing.
  bool give_way(double worth);
  void fill_views();
  void commit_entry(PendingSequence& pending, size_t accepted);
  void abandon();

  MemoryLayout layout_;
  MemoryOptions options_;
  BlockPool pool_;  // before everything that holds blocks
  size_t reach_rows_ = 0;
  size_t scratch_bytes_ = 0;
  PrefixTree tree_;
  MemoryTotals totals_;
  bool warned_inert_ = false;
  Observer observer_;
  Reclaimer reclaimer_;
  SequenceId next_id_ = 1;
  std::unordered_map<SequenceId, Sequence> sequences_;
  StepPlan plan_;
  std::vector<TokenId> prompt_tokens_;  // of prepare, kept for its capacity
};

}  // namespace oxbow::memory
