#pragma once
// A loaded model: questions about it, and the forward pass.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"
#include "gguf/file.h"
#include "memory/state_spec.h"
#include "memory/views.h"
#include "model/network.h"
#include "model/weight_loader.h"

namespace oxbow::model {

using memory::TokenId;

// Immutable after load; several threads may ask, one forward pass runs per scratch block.
class Model {
 public:
  // Errors: kUnsupported naming the architecture, metadata key or tensor that this build cannot honour,
  // kInvalidInput naming what is missing, misshapen or out of range; both name the file. kInvalidState when
  // options.progress stopped the load.
  static Result<std::unique_ptr<Model>> load(std::shared_ptr<const gguf::File> file, ThreadPool& pool,
                                             const LoadOptions& options = {});

  const gguf::File& file() const { return *file_; }
  const std::string& architecture() const { return architecture_; }
  size_t layer_count() const { return network_.layers.size(); }
  size_t embedding() const { return network_.embedding; }
  size_t vocabulary() const { return network_.vocabulary; }
  size_t context_length() const { return network_.context_length; }
  size_t parameter_count() const { return parameter_count_; }
  size_t weight_bytes() const;  // resident, packed

  // What the layers ask memory to keep, in the order in which the forward pass uses it.
  std::span<const memory::StateSpec> state_specs() const { return state_specs_; }
  bool is_recurrent() const { return memory::is_recurrent(state_specs_); }
  bool is_hybrid() const { return memory::is_hybrid(state_specs_); }
  // The letters of a layer's mixers (Mixer::letter), then F for a dense feed-forward or E for experts.
  std::string layer_letters(size_t layer) const;

  // Bytes of the scratch block for steps of at most max_rows tokens and max_outputs rows of logits.
  size_t scratch_bytes(size_t max_rows, size_t max_outputs, int threads) const;

  // Runs one step. tokens: one per row of the views, each below vocabulary(). output_rows: rows whose logits
  // are wanted. logits: [output_rows.size(), vocabulary()]. Fills the views' pages, states and rows. scratch:
  // scratch_bytes() for at least this many rows and outputs, 64-byte aligned.
  void forward(const memory::StepViews& views, std::span<const TokenId> tokens,
               std::span<const size_t> output_rows, ThreadPool& pool, std::span<std::byte> scratch,
               float* logits) const;

 private:
  struct Buffers;
  Model() = default;
  static Result<std::unique_ptr<Model>> build(std::shared_ptr<const gguf::File> file, ThreadPool& pool,
                                              const LoadOptions& options);
  Buffers carve(class Carver& carver, size_t rows, size_t outputs) const;
  void embed(const struct StepContext& context, std::span<const TokenId> tokens, float* x) const;
  void run_layer(const StepContext& context, const Layer& layer, struct NextSpec& next,
                 const Buffers& buffers) const;
  void norm(const StepContext& context, const float* x, const Norm& weights, size_t rows, float* y) const;
  void add_residual(const StepContext& context, const float* y, float* x) const;

  std::shared_ptr<const gguf::File> file_;
  std::string architecture_;
  Network network_;
  std::vector<Rope> ropes_;
  std::vector<memory::StateSpec> state_specs_;
  size_t parameter_count_ = 0;
};

}  // namespace oxbow::model
