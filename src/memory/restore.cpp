// Saving sequences to containers and making sequences from them.

#include <algorithm>
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
  // segments: in the order of their positions, from the first token on.
  BlockSource(const stores::ContainerReader& reader, std::span<const stores::ContainerReader* const> segments,
              Allocate allocate)
      : reader_(reader), segments_(segments), allocate_(std::move(allocate)) {}

  Result<BlockRef> get(uint32_t number, size_t size_bytes) {
    if (number == StoredCheckpoint::kNoBlock) return BlockRef();
    BlockRef& block = blocks_[number];
    if (!block) {
      OXBOW_ASSIGN(block, read(reader_, number, size_bytes));
    }
    return block.share();
  }

  Result<BlockRef> get_page(uint32_t number, size_t group, size_t page, size_t size_bytes) {
    if (number != StoredCheckpoint::kInSegment) return get(number, size_bytes);
    const size_t segment = page / snapshot::kSegmentPages;
    if (segment >= segments_.size())
      return fail(ErrorKind::kInvalidInput, "page {} lies in a segment that is not there", page);
    return read(*segments_[segment], segment_block(group, page % snapshot::kSegmentPages), size_bytes);
  }

 private:
  Result<BlockRef> read(const stores::ContainerReader& reader, uint32_t number, size_t size_bytes) {
    const stores::SectionId id{snapshot::kBlock, number};
    const stores::Section* section = reader.find(id);
    if (section == nullptr || section->raw_bytes != size_bytes)
      return fail(ErrorKind::kInvalidInput, "block {} of {} bytes is not there", number, size_bytes);
    OXBOW_ASSIGN(BlockRef fresh, allocate_(size_bytes));
    OXBOW_TRY(reader.read_into(id, {fresh.data(), size_bytes}));
    return fresh;
  }

  const stores::ContainerReader& reader_;
  std::span<const stores::ContainerReader* const> segments_;
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
      OXBOW_ASSIGN(BlockRef block, blocks.get_page(number, g, run.end(), layout.groups()[g].page_bytes));
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
  BlockSource blocks(reader, {}, [&](size_t size_bytes) -> Result<BlockRef> {
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

Status Memory::admit(std::span<const TokenId> tokens, const stores::ContainerReader& reader,
                     std::span<const stores::ContainerReader* const> segments, std::string_view partition) {
  if (plan_.active) return fail(ErrorKind::kInvalidState, "nothing can be admitted during a step");
  OXBOW_ASSIGN(const std::vector<TokenId> stored_tokens, read_tokens(reader));
  if (!std::ranges::equal(stored_tokens, tokens))
    return fail(ErrorKind::kInvalidInput, "the checkpoint is that of other tokens");
  OXBOW_ASSIGN(const std::vector<StoredCheckpoint> stored, read_checkpoints(layout_, tokens.size(), reader));
  if (stored.size() != 1 || stored.front().length != tokens.size())
    return fail(ErrorKind::kInvalidInput, "the object does not hold the checkpoint of its tokens");
  for (size_t i = 0; i < segments.size(); ++i) {
    OXBOW_ASSIGN(const std::vector<TokenId> before, read_tokens(*segments[i]));
    const size_t end = (i + 1) * snapshot::kSegmentTokens;
    if (end > tokens.size() || !std::ranges::equal(before, tokens.first(end)))
      return fail(ErrorKind::kInvalidInput, "a segment is that of other tokens");
  }
  const double worth = tree_.worth(partition, tokens, layout_.state_bytes());
  BlockSource blocks(reader, segments, [&](size_t size_bytes) -> Result<BlockRef> {
    BlockRef block = allocate_if_worth(size_bytes, worth);
    if (block) return block;
    return fail(ErrorKind::kOutOfBudget, "a stored checkpoint of {} tokens has no room", tokens.size());
  });
  OXBOW_ASSIGN(Checkpoint checkpoint, load(layout_, stored.front(), blocks));
  const size_t floor = checkpoint.floor(layout_);
  if (floor > checkpoint.length) return fail(ErrorKind::kInvalidInput, "the checkpoint lacks pages");
  tree_.insert(partition, tokens, std::move(checkpoint), floor);
  return {};
}

}  // namespace oxbow::memory
