// Saving sequences to containers and making sequences from them.

#include <algorithm>
#include <limits>

#include "memory/block_source.h"
#include "memory/memory.h"

namespace oxbow::memory {

Status Memory::save(SequenceId id, stores::ContainerWriter& writer) const {
  const Sequence* sequence = find(id);
  if (sequence == nullptr) return fail(ErrorKind::kNotFound, "there is no sequence {}", id);
  if (plan_.active) return fail(ErrorKind::kInvalidState, "sequence {} cannot be saved during a step", id);
  const auto tokens = std::span<const TokenId>(sequence->history->tokens).first(sequence->length);
  std::vector<const Checkpoint*> checkpoints;
  for (const PrefixTree::Entry* entry : tree_.on_the_way(sequence->partition, tokens))
    checkpoints.push_back(&entry->checkpoint);
  const Checkpoint own = sequence->history->Checkpoint::clone(sequence->length);
  if (own.length > 0) checkpoints.push_back(&own);
  return write_snapshot(layout_, tokens, checkpoints, writer);
}

// The last checkpoint is the sequence itself; those before it are kept when there is room.
Result<Restored> Memory::restore(const stores::ContainerReader& reader, std::string_view partition) {
  if (plan_.active) return fail(ErrorKind::kInvalidState, "nothing can be restored during a step");
  Restored restored;
  OXBOW_ASSIGN(restored.tokens, read_tokens(reader));
  OXBOW_ASSIGN(const std::vector<StoredCheckpoint> stored,
               read_checkpoints(layout_, restored.tokens.size(), reader));
  double worth = std::numeric_limits<double>::infinity();
  BlockSource blocks(reader, [&](size_t size_bytes) -> Result<BlockRef> {
    BlockRef block = allocate_if_worth(size_bytes, worth);
    if (block) return block;
    return fail(ErrorKind::kOutOfBudget,
                "restoring {} tokens needs {} more bytes; {} of the {} bytes of the memory budget are free",
                restored.tokens.size(), size_bytes, pool_.free_bytes(), pool_.budget_bytes());
  });
  const std::span<const TokenId> tokens = restored.tokens;
  Checkpoint last;
  if (!stored.empty()) {
    OXBOW_ASSIGN(last, load_checkpoint(layout_, stored.back(), blocks));
  }
  for (size_t i = 0; i + 1 < stored.size(); ++i) {
    const auto prefix = tokens.first(stored[i].length);
    worth = tree_.worth(partition, prefix, layout_.state_bytes());
    auto checkpoint = load_checkpoint(layout_, stored[i], blocks);
    if (!checkpoint && checkpoint.error().kind != ErrorKind::kOutOfBudget)
      return tl::unexpected<Error>(std::move(checkpoint).error());
    if (!checkpoint) continue;
    const size_t floor = checkpoint->floor(layout_);
    if (floor > checkpoint->length) continue;
    tree_.insert(partition, prefix, std::move(*checkpoint), floor);
    ++totals_.admitted;
  }
  restored.sequence = create(partition);
  if (stored.empty()) return restored;
  restored.restored = last.length;
  Sequence& sequence = *find(restored.sequence);
  sequence.length = last.length;
  sequence.history = std::make_shared<History>(std::move(last), tokens.first(restored.restored));
  return restored;
}

Admission Memory::admission(std::span<const TokenId> tokens, std::string_view partition) {
  return Admission(*this, tokens, partition);
}

Status Memory::admit(std::span<const TokenId> tokens, const stores::ContainerReader& reader,
                     std::span<const stores::ContainerReader* const> segments, std::string_view partition) {
  Admission one = admission(tokens, partition);
  OXBOW_TRY(one.add_checkpoint(reader));
  while (!one.wanted().empty()) {
    const size_t index = one.wanted().front() / snapshot::kSegmentTokens - 1;
    if (index >= segments.size()) return fail(ErrorKind::kInvalidInput, "segment {} is not there", index);
    OXBOW_TRY(one.add_segment(*segments[index]));
  }
  return one.finish();
}

}  // namespace oxbow::memory
