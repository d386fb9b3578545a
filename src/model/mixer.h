#pragma once
// A mixer moves information between tokens; a feed-forward works on each token by itself, or (RWKV's) also on
// the one before it.

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "memory/state_spec.h"
#include "model/step_context.h"

namespace oxbow::model {

// Immutable after load; run() may be called by one thread at a time (it uses the context's pool).
class Mixer {
 public:
  virtual ~Mixer() = default;

  // What it asks memory to keep.
  virtual memory::StateSpec state_spec() const = 0;
  // One letter for layer maps: A attention, W windowed attention, L latent attention, M Mamba, D delta net, K
  // Kimi delta attention, R RWKV, C short convolution.
  virtual char letter() const = 0;
  virtual size_t weight_bytes() const = 0;
  virtual size_t scratch_bytes(size_t rows, int threads) const = 0;
  // x: [rows, embedding] after the norm. y: [rows, embedding], overwritten. `spec` counts this mixer's state
  // among the specs of its kind.
  virtual void run(const StepContext& context, size_t spec, const float* x, float* y) const = 0;
};

class FeedForward {
 public:
  virtual ~FeedForward() = default;
  virtual bool has_experts() const { return false; }
  // What it asks memory to keep, if anything.
  virtual std::optional<memory::StateSpec> state_spec() const { return std::nullopt; }
  virtual size_t weight_bytes() const = 0;
  virtual size_t scratch_bytes(size_t rows, int threads) const = 0;
  // As Mixer::run. spec says nothing when there is no state.
  virtual void run(const StepContext& context, size_t spec, const float* x, float* y) const = 0;
};

}  // namespace oxbow::model
