// Saving sequences to containers and making sequences from them.

#include <functional>
#include <limits>
#include <unordered_map>

#include "memory/memory.h"

namespace oxbow::memory {
namespace {

// Blocks of a container, read when a checkpoint first needs them.
class BlockSource {
 public:
  using Allocate = std::function<Result<BlockRef>(size_t size_bytes)>;
  BlockSource(const stores::ContainerReader& reader, Allocate allocate)
      : reader_(reader), allocate_(std::move(allocate)) {}

  Result<BlockRef> get(uint32_t number, size_t size_bytes) {
    if (number == StoredCheckpoint::kNoBlock) return BlockRef();
    BlockRef& block = blocks_[number];
    if (!block) {
      OXBOW_ASSIGN(BlockRef fresh, allocate_(size_bytes));
      OXBOW_TRY(reader_.read_into({snapshot::kBlock, number}, {fresh.data(), size_bytes}));
      block = std::move(fresh);
    }
    return block.share();
  }

 private:
  const stores::ContainerReader& reader_;
  Allocate allocate_;
  std::unordered_map<uint32_t, BlockRef> blocks_;
};

Result<Checkpoint> load(const MemoryLayout& layout, const StoredCheckpoint& stored, BlockSource& blocks) {
  Checkpoint checkpoint;
  checkpoint.length = stored.length;
  checkpoint.base.position = stored.base.position;
  OXBOW_ASSIGN(checkpoint.base.block, blocks.get(stored.base.block, layout.state_bytes()));
  if (stored.has_next_base) {
    OXBOW_ASSIGN(BlockRef block, blocks.get(stored.next_base.block, layout.state_bytes()));
    checkpoint.next_base = Base{std::move(block), stored.next_base.position};
  }
  checkpoint.first_row_page = stored.first_row_page;
  for (const uint32_t number : stored.row_pages) {
    OXBOW_ASSIGN(BlockRef block, blocks.get(number, layout.row_page_bytes()));
    checkpoint.row_pages.push_back(std::move(block));
  }
  for (size_t g = 0; g < stored.pages.size(); ++g) {
    PageRun run;
    run.first = stored.pages[g].first;
    for (const uint32_t number : stored.pages[g].blocks) {
      OXBOW_ASSIGN(BlockRef block, blocks.get(number, layout.groups()[g].page_bytes));
      run.blocks.push_back(std::move(block));
    }
    checkpoint.pages.push_back(std::move(run));
  }
  return checkpoint;
}

}  // namespace

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
    OXBOW_ASSIGN(last, load(layout_, stored.back(), blocks));
  }
  for (size_t i = 0; i + 1 < stored.size(); ++i) {
    const auto prefix = tokens.first(stored[i].length);
    worth = tree_.worth(partition, prefix, layout_.state_bytes());
    auto checkpoint = load(layout_, stored[i], blocks);
    if (!checkpoint && checkpoint.error().kind != ErrorKind::kOutOfBudget)
      return tl::unexpected<Error>(std::move(checkpoint).error());
    if (!checkpoint) continue;
    const size_t floor = checkpoint->floor(layout_);
    if (floor <= checkpoint->length) tree_.insert(partition, prefix, std::move(*checkpoint), floor);
  }
  restored.sequence = create(partition);
  if (stored.empty()) return restored;
  restored.restored = last.length;
  Sequence& sequence = *find(restored.sequence);
  sequence.length = last.length;
  sequence.history = std::make_shared<History>(std::move(last), tokens.first(restored.restored));
  return restored;
}

}  // namespace oxbow::memory
