#pragma once
// Everything kept of one sequence of tokens.

#include <vector>

#include "memory/checkpoint.h"
#include "memory/state_spec.h"

namespace oxbow::memory {

// tokens.size() == length. A History held by one sequence may be appended to; one held by several is never
// changed.
struct History : Checkpoint {
  std::vector<TokenId> tokens;

  History() = default;
  History(Checkpoint&& checkpoint, std::span<const TokenId> ids)
      : Checkpoint(std::move(checkpoint)), tokens(ids.begin(), ids.end()) {}

  History clone(size_t count) const {
    return {Checkpoint::clone(count), std::span<const TokenId>(tokens).first(count)};
  }
  void trim(size_t count) {
    tokens.resize(count);
    Checkpoint::trim(count);
  }
};

}  // namespace oxbow::memory
