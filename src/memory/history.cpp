#include "memory/history.h"

#include "base/bytes.h"

namespace oxbow::memory {
namespace {

std::vector<BlockRef> share_all(const std::vector<BlockRef>& blocks, size_t count) {
  std::vector<BlockRef> shared;
  shared.reserve(count + 1);
  for (size_t i = 0; i < count; ++i) shared.push_back(blocks[i].share());
  return shared;
}

size_t row_pages_needed(const History& history, size_t length) {
  if (history.row_pages.empty() || length <= history.base.position) return 0;
  return ceil_div(length, kRowPageTokens) - history.first_row_page;
}

}  // namespace

History History::clone(size_t length) const {
  History copy;
  copy.tokens.assign(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(length));
  for (const auto& group : pages) copy.pages.push_back(share_all(group, ceil_div(length, kPagePositions)));
  copy.base = base.share();
  if (next_base && next_base->position <= length) copy.next_base = next_base->share();
  copy.row_pages = share_all(row_pages, row_pages_needed(*this, length));
  copy.first_row_page = first_row_page;
  return copy;
}

void History::trim(size_t length) {
  tokens.resize(length);
  for (auto& group : pages) group.resize(ceil_div(length, kPagePositions));
  if (next_base && next_base->position > length) next_base.reset();
  row_pages.resize(row_pages_needed(*this, length));
}

void History::drop_rows_before(size_t position) {
  const size_t first = position / kRowPageTokens;
  if (first <= first_row_page) return;
  const size_t dropped = std::min(first - first_row_page, row_pages.size());
  row_pages.erase(row_pages.begin(), row_pages.begin() + static_cast<ptrdiff_t>(dropped));
  first_row_page = first;
}

}  // namespace oxbow::memory
