#include "engine/footprint.h"

#include <algorithm>

#include "base/bytes.h"

namespace oxbow::engine {

using memory::kPagePositions;
using memory::kRowPageTokens;

Footprint::Footprint(const memory::Memory& memory)
    : budget_bytes_(memory.pool().budget_bytes()),
      capacity_bytes_(budget_bytes_ - std::min(budget_bytes_, memory.use().scratch_bytes)),
      reach_rows_(memory.reach_rows()),
      state_bytes_(memory.layout().state_bytes()),
      row_page_bytes_(memory.layout().row_page_bytes()),
      groups_(memory.layout().groups().begin(), memory.layout().groups().end()) {}

size_t Footprint::sequence_bytes(size_t tokens) const {
  size_t bytes = 0;
  for (const memory::KvGroup& group : groups_) {
    // Pages that a window hides stay as long as the sequence can be cut back to where they show.
    const size_t shown =
        group.window_tokens == 0 ? tokens : group.window_tokens + reach_rows_ + kPagePositions;
    bytes += ceil_div(std::min(tokens, shown), kPagePositions) * group.page_bytes;
  }
  if (state_bytes_ == 0) return bytes;
  // The working state, and the bases that a longer log has (Memory::plan_bases).
  const size_t states = size_t{1} + (tokens > reach_rows_ / 2 ? 1 : 0) + (tokens > reach_rows_ ? 1 : 0);
  const size_t row_pages = ceil_div(std::min(tokens, reach_rows_), kRowPageTokens) + 1;
  return bytes + states * state_bytes_ + row_pages * row_page_bytes_;
}

}  // namespace oxbow::engine
