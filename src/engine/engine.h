#pragma once
// One model, its memory and its threads; runs steps.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "engine/tiers.h"
#include "memory/memory.h"
#include "model/model.h"

namespace oxbow::engine {

using memory::SequenceId;
using memory::TokenId;

struct EngineOptions {
  int threads = 0;               // 0: all usable cores
  size_t max_step_tokens = 512;  // a step takes at most this many tokens of all sequences together
  size_t max_outputs = 1;        // rows of logits a step can give
  size_t budget_bytes = 0;  // pages, states, logs and scratch together; 0: a quarter of the available memory
  size_t rewind_bytes = 0;  // see MemoryOptions
  size_t first_checkpoint = 256;  // see MemoryOptions
  memory::KvTypes kv;
};

enum class Outputs { kNone, kLast, kAll };  // of which tokens the logits are wanted

struct StepEntry {
  SequenceId sequence = 0;
  std::span<const TokenId> tokens;
  Outputs outputs = Outputs::kLast;
};

// Not thread safe: one thread owns it. The model may be shared with other engines.
class Engine {
 public:
  // kOutOfBudget when the scratch alone does not fit the budget.
  static Result<std::unique_ptr<Engine>> create(std::shared_ptr<const model::Model> model,
                                                const EngineOptions& options);

  const model::Model& model() const { return *model_; }
  memory::Memory& memory() { return memory_; }
  const memory::Memory& memory() const { return memory_; }
  const EngineOptions& options() const { return options_; }
  int threads() const { return pool_.size(); }

  // Puts a store behind the memory: kept checkpoints go there, prompts find them again. Asked in the order in
  // which they were added.
  void add_store(std::unique_ptr<stores::BlobStore> store);
  // Starts to bring the best checkpoint that the stores have for a prompt to memory, waiting for nothing;
  // null without stores. Each store has `patience`. See Recall.
  std::unique_ptr<Recall> start_recall(std::span<const TokenId> prompt, std::string_view partition,
                                       std::chrono::milliseconds patience = std::chrono::seconds(10));
  // The same, waiting for the end.
  void recall(std::span<const TokenId> prompt, std::string_view partition,
              std::chrono::milliseconds patience = std::chrono::seconds(10));
  std::span<const std::unique_ptr<CacheTier>> tiers() const {
    return tiers_ != nullptr ? tiers_->all() : std::span<const std::unique_ptr<CacheTier>>();
  }

  // Runs one step over the entries and commits it: afterwards each sequence holds its new tokens. Returns the
  // wanted logits, [rows, vocabulary] in the order of entries and tokens, valid until the next step. Errors
  // leave every sequence as it was: a token outside the vocabulary, more tokens or outputs than the options
  // allow, the budget.
  Result<std::span<const float>> step(std::span<const StepEntry> entries);

 private:
  Engine(std::shared_ptr<const model::Model> model, const EngineOptions& options);
  Status check(std::span<const StepEntry> entries);

  EngineOptions options_;
  std::shared_ptr<const model::Model> model_;
  ThreadPool pool_;
  memory::Memory memory_;
  AlignedBuffer scratch_;
  std::vector<float> logits_;
  std::unique_ptr<Tiers> tiers_;  // after the memory whose blocks they hold
  // Of the current step; kept for their capacity.
  std::vector<memory::BatchEntry> batch_;
  std::vector<TokenId> tokens_;
  std::vector<size_t> output_rows_;
};

}  // namespace oxbow::engine
