#include "memory/block_source.h"

namespace oxbow::memory {

Result<BlockRef> BlockSource::get(uint32_t number, size_t size_bytes) {
  if (number == StoredCheckpoint::kNoBlock || number == StoredCheckpoint::kInSegment) return BlockRef();
  const auto known = blocks_.find(number);
  if (known != blocks_.end()) return known->second.share();
  const stores::SectionId id{snapshot::kBlock, number};
  const stores::Section* section = reader_.find(id);
  if (section == nullptr || section->raw_bytes != size_bytes)
    return fail(ErrorKind::kInvalidInput, "block {} of {} bytes is not there", number, size_bytes);
  OXBOW_ASSIGN(BlockRef block, allocate_(size_bytes));
  OXBOW_TRY(reader_.read_into(id, {block.data(), size_bytes}));
  return blocks_.emplace(number, std::move(block)).first->second.share();
}

Result<Checkpoint> load_checkpoint(const MemoryLayout& layout, const StoredCheckpoint& stored,
                                   BlockSource& blocks) {
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

}  // namespace oxbow::memory
