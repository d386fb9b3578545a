#pragma once
// How much memory a sequence takes, estimated from the layout, to decide what can run at once.

#include <cstddef>
#include <vector>

#include "memory/memory.h"

namespace oxbow::engine {

// Immutable: any thread may ask.
class Footprint {
 public:
  explicit Footprint(const memory::Memory& memory);

  // Bytes of a sequence of so many tokens that shares nothing: pages, states, rows.
  size_t sequence_bytes(size_t tokens) const;
  // What the budget leaves for sequences.
  size_t capacity_bytes() const { return capacity_bytes_; }
  size_t budget_bytes() const { return budget_bytes_; }

 private:
  size_t budget_bytes_ = 0;
  size_t capacity_bytes_ = 0;
  size_t reach_rows_ = 0;
  size_t state_bytes_ = 0;
  size_t row_page_bytes_ = 0;
  std::vector<memory::KvGroup> groups_;
};

}  // namespace oxbow::engine
