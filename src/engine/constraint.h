#pragma once
// What a grammar tells the sampler: which tokens may come next.

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "memory/state_spec.h"

namespace oxbow::engine {

// The state of one answer. Used on the engine's thread alone.
class Constraint {
 public:
  virtual ~Constraint() = default;
  // An equal state that goes on by itself, for the choices of one request.
  virtual std::unique_ptr<Constraint> clone() const = 0;
  // Bit i % 32 of word i / 32 says whether token i may come next; one bit at least is set. End-of-text tokens
  // are allowed where the text may end. Valid until the next call.
  virtual std::span<const uint32_t> mask() = 0;
  // Moves on by a token that the mask allowed.
  virtual Status accept(memory::TokenId token) = 0;
  // The text is complete, and nothing but its end may follow.
  virtual bool is_complete() const = 0;
};

}  // namespace oxbow::engine
