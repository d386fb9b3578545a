#include "memory/checkpoint.h"

#include <algorithm>

#include "base/bytes.h"

namespace oxbow::memory {
namespace {

std::vector<BlockRef> share_all(std::span<const BlockRef> blocks) {
  std::vector<BlockRef> shared;
  shared.reserve(blocks.size() + 1);
  for (const BlockRef& block : blocks) shared.push_back(block.share());
  return shared;
}

// The first page that a query at `position` can see through a window; 0 without one.
size_t first_visible_page(size_t position, size_t window_tokens) {
  if (window_tokens == 0 || position + 1 <= window_tokens) return 0;
  return (position + 1 - window_tokens) / kPagePositions;
}

}  // namespace

size_t Checkpoint::floor(const MemoryLayout& layout) const {
  size_t floor = layout.has_recurrent() ? base.position : 0;
  for (size_t g = 0; g < pages.size(); ++g) {
    if (pages[g].first == 0) continue;
    floor = std::max(floor, pages[g].first * kPagePositions + layout.groups()[g].window_tokens - 1);
  }
  return floor;
}

Checkpoint Checkpoint::clone(size_t count) const {
  Checkpoint copy;
  copy.length = count;
  for (const PageRun& run : pages) {
    const size_t end = std::max(run.first, ceil_div(count, kPagePositions));
    copy.pages.push_back({run.first, share_all(std::span(run.blocks).first(end - run.first))});
  }
  copy.base = base.share();
  if (next_base && next_base->position <= count) copy.next_base = next_base->share();
  const size_t rows_end = count > base.position ? ceil_div(count, kRowPageTokens) : first_row_page;
  const size_t row_count = row_pages.empty() ? 0 : rows_end - first_row_page;
  copy.row_pages = share_all(std::span(row_pages).first(row_count));
  copy.first_row_page = first_row_page;
  return copy;
}

Checkpoint Checkpoint::clone_from(Base start, size_t count, const MemoryLayout& layout) const {
  Checkpoint copy;
  copy.length = count;
  for (const PageRun& run : pages) {
    const size_t end = std::max(run.first, ceil_div(count, kPagePositions));
    copy.pages.push_back({run.first, share_all(std::span(run.blocks).first(end - run.first))});
  }
  if (layout.has_recurrent() && count > start.position) {
    copy.first_row_page = start.position / kRowPageTokens;
    const size_t begin = copy.first_row_page - first_row_page;
    const size_t end = ceil_div(count, kRowPageTokens) - first_row_page;
    copy.row_pages = share_all(std::span(row_pages).subspan(begin, end - begin));
  }
  copy.drop_pages_before(layout.has_recurrent() ? start.position : 0, layout);
  copy.base = std::move(start);
  return copy;
}

void Checkpoint::trim(size_t count) {
  length = count;
  for (PageRun& run : pages)
    run.blocks.resize(std::max(run.first, ceil_div(count, kPagePositions)) - run.first);
  if (next_base && next_base->position > count) next_base.reset();
  const size_t rows_end = count > base.position ? ceil_div(count, kRowPageTokens) : first_row_page;
  if (!row_pages.empty()) row_pages.resize(rows_end - first_row_page);
}

void Checkpoint::drop_rows_before(size_t position) {
  const size_t first = position / kRowPageTokens;
  if (first <= first_row_page) return;
  const size_t dropped = std::min(first - first_row_page, row_pages.size());
  row_pages.erase(row_pages.begin(), row_pages.begin() + static_cast<ptrdiff_t>(dropped));
  first_row_page = first;
}

void Checkpoint::drop_pages_before(size_t floor, const MemoryLayout& layout) {
  for (size_t g = 0; g < pages.size(); ++g) {
    PageRun& run = pages[g];
    const size_t first = first_visible_page(floor, layout.groups()[g].window_tokens);
    if (first <= run.first) continue;
    const size_t dropped = std::min(first - run.first, run.blocks.size());
    run.blocks.erase(run.blocks.begin(), run.blocks.begin() + static_cast<ptrdiff_t>(dropped));
    run.first = first;
  }
}

}  // namespace oxbow::memory
