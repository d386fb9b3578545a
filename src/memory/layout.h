#pragma once
// The memory layout: the state specs of all layers, and where each lies inside a page, a state and a row.

#include <cstddef>
#include <span>
#include <vector>

#include "memory/state_spec.h"

namespace oxbow::memory {

inline constexpr size_t kPagePositions = kernels::kKeyBlock;
inline constexpr size_t kRowPageTokens = 16;  // log rows are allocated for 16 tokens at a time

// Specs with the same window share pages: one page holds 64 positions of all of them.
struct KvGroup {
  size_t window_tokens = 0;
  size_t page_bytes = 0;
};

struct KvPlace {
  size_t group = 0;
  size_t k_offset = 0;  // bytes inside a page
  size_t v_offset = 0;
  size_t k_head_bytes = 0;
  size_t v_head_bytes = 0;
};

struct RecurrentPlace {
  size_t state_offset = 0;  // floats inside a state
  size_t row_offset = 0;    // floats inside a row
  size_t state_floats = 0;
  size_t row_floats = 0;
};

class MemoryLayout {
 public:
  MemoryLayout(std::span<const StateSpec> specs, KvTypes types);

  std::span<const KvGroup> groups() const { return groups_; }
  std::span<const KvPlace> kv() const { return kv_; }                       // in order of declaration
  std::span<const RecurrentPlace> recurrent() const { return recurrent_; }  // in order of declaration
  KvTypes types() const { return types_; }

  bool has_recurrent() const { return state_floats_ > 0; }
  size_t state_floats() const { return state_floats_; }  // all recurrent specs, one position
  size_t row_floats() const { return row_floats_; }      // all recurrent specs, one token
  size_t state_bytes() const { return state_floats_ * sizeof(float); }
  size_t row_bytes() const { return row_floats_ * sizeof(float); }
  size_t row_page_bytes() const { return row_bytes() * kRowPageTokens; }
  size_t kv_bytes_per_token() const;  // without windows' end

 private:
  KvTypes types_;
  std::vector<KvGroup> groups_;
  std::vector<KvPlace> kv_;
  std::vector<RecurrentPlace> recurrent_;
  size_t state_floats_ = 0;
  size_t row_floats_ = 0;
};

}  // namespace oxbow::memory
