#pragma once
// Everything kept of one sequence of tokens: ids, K/V pages, and base + log of the recurrent layers.

#include <memory>
#include <optional>
#include <vector>

#include "memory/block_pool.h"
#include "memory/layout.h"

namespace oxbow::memory {

// A state at a known position; never written after it was made. No block: all zero, at position 0.
struct Base {
  BlockRef block;
  size_t position = 0;

  Base share() const { return {block.share(), position}; }
};

// Invariants
//  1. pages[g] covers positions [0, length) of group g, 64 to a page.
//  2. The log has one row for every position in [base.position, length): rows of position p lie in
//     row_pages[p / 16 - first_row_page].
//  3. base.position <= next_base.position <= length.
//  4. Positions at or beyond length in the last pages are unwritten.
// A History held by one sequence may be appended to; one held by several is never changed.
struct History {
  std::vector<TokenId> tokens;
  std::vector<std::vector<BlockRef>> pages;
  Base base;
  std::optional<Base> next_base;  // takes over when the rows outgrow the reach
  std::vector<BlockRef> row_pages;
  size_t first_row_page = 0;

  size_t length() const { return tokens.size(); }

  // The same history cut to `length` positions, sharing pages and bases. Needs base.position <= length <=
  // length().
  History clone(size_t length) const;
  void trim(size_t length);

  const float* row(size_t position, size_t row_floats) const {
    const BlockRef& page = row_pages[position / kRowPageTokens - first_row_page];
    return page.floats() + position % kRowPageTokens * row_floats;
  }
  // The latest base at or before position.
  const Base& base_before(size_t position) const {
    return next_base && next_base->position <= position ? *next_base : base;
  }
  // Makes `position` the start of the log.
  void drop_rows_before(size_t position);
};

}  // namespace oxbow::memory
