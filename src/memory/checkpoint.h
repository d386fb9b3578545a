#pragma once
// What is kept of the first tokens of a sequence: K/V pages, and base + log of the recurrent layers.

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

// The pages of one K/V group: page i holds positions [64 i, 64 (i + 1)). Pages before `first` were dropped
// because they lie outside the group's window.
struct PageRun {
  size_t first = 0;
  std::vector<BlockRef> blocks;

  size_t end() const { return first + blocks.size(); }
  bool has(size_t index) const { return index >= first && index < end(); }
  const BlockRef& at(size_t index) const { return blocks[index - first]; }
};

// Invariants
//  1. pages[g] covers what the group's window shows of [0, length) from every position in [floor, length].
//  2. The log has one row for every position in [base.position, length): rows of position p lie in
//     row_pages[p / 16 - first_row_page].
//  3. base.position <= next_base.position <= length.
//  4. Positions at or beyond length in the last pages do not belong to it.
struct Checkpoint {
  size_t length = 0;           // tokens
  std::vector<PageRun> pages;  // per K/V group
  Base base;
  std::optional<Base> next_base;  // takes over when the rows outgrow the reach
  std::vector<BlockRef> row_pages;
  size_t first_row_page = 0;

  // The first position that it can be cut to.
  size_t floor(const MemoryLayout& layout) const;

  // The same cut to `length` positions, sharing pages and bases. Needs floor <= length <= this->length.
  Checkpoint clone(size_t length) const;
  // As clone, with a base at or after its own, and rows from there. Needs base.position <= length.
  Checkpoint clone_from(Base base, size_t length, const MemoryLayout& layout) const;
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
  // Drops the pages that no position from `floor` on can see.
  void drop_pages_before(size_t floor, const MemoryLayout& layout);

  // visit(block) for every block that it holds; one that it holds twice is visited twice.
  template <class Visit>
  void for_each_block(Visit visit) const {
    for (const PageRun& run : pages)
      for (const BlockRef& block : run.blocks) visit(block);
    if (base.block) visit(base.block);
    if (next_base && next_base->block) visit(next_base->block);
    for (const BlockRef& block : row_pages) visit(block);
  }
};

}  // namespace oxbow::memory
