#include "memory/admission.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "memory/block_source.h"
#include "memory/memory.h"

namespace oxbow::memory {
namespace {

// Of a container: its fixed parts, its key, and what a section takes beside its bytes.
constexpr uint64_t kContainerBytes = 4096;
constexpr uint64_t kSectionBytes = 48 + 64;

using snapshot::kSegmentPages;
using snapshot::kSegmentTokens;

}  // namespace

Admission::Admission(Memory& memory, std::span<const TokenId> tokens, std::string_view partition)
    : memory_(&memory), tokens_(tokens.begin(), tokens.end()), partition_(partition) {
  worth_ = memory.tree_.worth(partition, tokens, memory.layout_.state_bytes());
}

Admission::Admission(Admission&& other) noexcept
    : memory_(other.memory_),
      tokens_(std::move(other.tokens_)),
      partition_(std::move(other.partition_)),
      worth_(other.worth_),
      expected_bytes_(std::exchange(other.expected_bytes_, 0)),
      checkpoint_(std::move(other.checkpoint_)),
      wanted_(std::move(other.wanted_)) {}

Admission::~Admission() {
  arrived(expected_bytes_);
}

// Two states, the rows that this memory keeps at most, pages in sight of the first row, and the pages after
// the last whole segment.
uint64_t Admission::checkpoint_bytes() const {
  const MemoryLayout& layout = memory_->layout();
  const size_t length = tokens_.size();
  uint64_t sections = 2;
  uint64_t bytes = kContainerBytes + length * sizeof(TokenId);
  size_t rows = 0;
  if (layout.has_recurrent()) {
    rows = std::min(length, 2 * memory_->reach_rows());
    const size_t row_pages = rows / kRowPageTokens + 2;
    sections += 2 + row_pages;
    bytes += 2 * layout.state_bytes() + row_pages * layout.row_page_bytes();
  }
  for (const KvGroup& group : layout.groups()) {
    const size_t all = ceil_div(length, kPagePositions);
    const size_t in_sight = (group.window_tokens + rows) / kPagePositions + 3;
    const size_t pages = group.window_tokens == 0 ? all % kSegmentPages + 1 : std::min(all, in_sight);
    sections += pages;
    bytes += pages * group.page_bytes + all * sizeof(uint32_t);  // the table names every page
  }
  return bytes + sections * kSectionBytes;
}

uint64_t Admission::segment_bytes(size_t end) const {
  uint64_t bytes = kContainerBytes + end * sizeof(TokenId);
  for (const KvGroup& group : memory_->layout().groups()) {
    if (group.window_tokens == 0) bytes += kSegmentPages * (group.page_bytes + kSectionBytes);
  }
  return bytes;
}

Status Admission::expect(uint64_t size_bytes) {
  if (!memory_->reserve_if_worth(size_bytes, worth_)) {
    return fail(ErrorKind::kOutOfBudget, "an object of {} bytes on its way has no room", size_bytes);
  }
  expected_bytes_ += size_bytes;
  return {};
}

void Admission::arrived(uint64_t size_bytes) {
  OXBOW_CHECK(size_bytes <= expected_bytes_);
  memory_->pool_.release(size_bytes);
  expected_bytes_ -= size_bytes;
}

Result<BlockRef> Admission::allocate(size_t size_bytes) {
  BlockRef block = memory_->allocate_if_worth(size_bytes, worth_);
  if (block) return block;
  return fail(ErrorKind::kOutOfBudget, "a stored checkpoint of {} tokens has no room", tokens_.size());
}

Status Admission::add_checkpoint(const stores::ContainerReader& reader) {
  if (memory_->plan_.active) return fail(ErrorKind::kInvalidState, "nothing can be admitted during a step");
  OXBOW_ASSIGN(const std::vector<TokenId> stored_tokens, read_tokens(reader));
  if (!std::ranges::equal(stored_tokens, tokens_))
    return fail(ErrorKind::kInvalidInput, "the checkpoint is that of other tokens");
  OXBOW_ASSIGN(const std::vector<StoredCheckpoint> stored,
               read_checkpoints(memory_->layout(), tokens_.size(), reader, true));
  if (stored.size() != 1 || stored.front().length != tokens_.size())
    return fail(ErrorKind::kInvalidInput, "the object does not hold the checkpoint of its tokens");
  BlockSource blocks(reader, [this](size_t size_bytes) { return allocate(size_bytes); });
  OXBOW_ASSIGN(checkpoint_, load_checkpoint(memory_->layout(), stored.front(), blocks));
  share_known_pages();
  for (const PageRun& run : checkpoint_->pages) {
    for (size_t page = run.first; page < run.end(); ++page) {
      const size_t end = (page / kSegmentPages + 1) * kSegmentTokens;
      if (!run.at(page) && (wanted_.empty() || wanted_.back() < end)) wanted_.push_back(end);
    }
  }
  std::ranges::sort(wanted_);
  wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
  return {};
}

void Admission::share_known_pages() {
  const auto known = memory_->tree_.match(partition_, tokens_, tokens_.size());
  if (known.entry == nullptr) return;
  for (size_t g = 0; g < checkpoint_->pages.size(); ++g) {
    PageRun& run = checkpoint_->pages[g];
    const PageRun& there = known.entry->checkpoint.pages[g];
    // Whole pages alone: the last one may hold positions of other tokens.
    for (size_t page = run.first; page < std::min(run.end(), known.reused / kPagePositions); ++page) {
      BlockRef& block = run.blocks[page - run.first];
      if (!block && there.has(page)) block = there.at(page).share();
    }
  }
}

Status Admission::add_segment(const stores::ContainerReader& reader) {
  OXBOW_CHECK(checkpoint_ && !wanted_.empty());
  const size_t end = wanted_.front();
  OXBOW_ASSIGN(const std::vector<TokenId> before, read_tokens(reader));
  if (!std::ranges::equal(before, std::span(tokens_).first(end)))
    return fail(ErrorKind::kInvalidInput, "a segment is that of other tokens");
  BlockSource blocks(reader, [this](size_t size_bytes) { return allocate(size_bytes); });
  const size_t first_page = end / kPagePositions - kSegmentPages;
  for (size_t g = 0; g < checkpoint_->pages.size(); ++g) {
    PageRun& run = checkpoint_->pages[g];
    for (size_t i = 0; i < kSegmentPages; ++i) {
      if (!run.has(first_page + i) || run.at(first_page + i)) continue;
      OXBOW_ASSIGN(run.blocks[first_page + i - run.first],
                   blocks.get(segment_block(g, i), memory_->layout().groups()[g].page_bytes));
    }
  }
  wanted_.erase(wanted_.begin());
  return {};
}

Status Admission::finish() {
  OXBOW_CHECK(checkpoint_ && wanted_.empty());
  if (memory_->plan_.active) return fail(ErrorKind::kInvalidState, "nothing can be admitted during a step");
  const size_t floor = checkpoint_->floor(memory_->layout());
  if (floor > checkpoint_->length) return fail(ErrorKind::kInvalidInput, "the checkpoint lacks pages");
  memory_->tree_.insert(partition_, tokens_, std::move(*checkpoint_), floor);
  checkpoint_.reset();
  ++memory_->totals_.admitted;
  return {};
}

}  // namespace oxbow::memory
