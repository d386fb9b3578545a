#include "engine/engine.h"

#include <algorithm>

#include "base/cpu.h"
#include "engine/default_budget.h"
#include "engine/fingerprint.h"

namespace oxbow::engine {
namespace {

EngineOptions resolve(EngineOptions options) {
  if (options.threads <= 0) options.threads = usable_cores();
  if (options.budget_bytes == 0) options.budget_bytes = default_budget_bytes();
  options.max_step_tokens = std::max<size_t>(options.max_step_tokens, 1);
  options.max_outputs = std::clamp<size_t>(options.max_outputs, 1, options.max_step_tokens);
  return options;
}

}  // namespace

Engine::Engine(std::shared_ptr<const model::Model> model, const EngineOptions& options)
    : options_(options),
      model_(std::move(model)),
      pool_(options.threads),
      memory_(model_->state_specs(),
              {options.budget_bytes, options.rewind_bytes, options.kv, options.first_checkpoint}) {}

Result<std::unique_ptr<Engine>> Engine::create(std::shared_ptr<const model::Model> model,
                                               const EngineOptions& given) {
  std::unique_ptr<Engine> engine(new Engine(std::move(model), resolve(given)));
  const EngineOptions& options = engine->options_;
  const size_t scratch_bytes =
      engine->model_->scratch_bytes(options.max_step_tokens, options.max_outputs, options.threads);
  const size_t logits = options.max_outputs * engine->model_->vocabulary();
  OXBOW_TRY(engine->memory_.reserve_scratch(scratch_bytes + logits * sizeof(float)));
  engine->scratch_ = AlignedBuffer::try_allocate(scratch_bytes);
  if (engine->scratch_.empty()) {
    return fail(ErrorKind::kOutOfBudget, "the system has no {} bytes for the working buffers", scratch_bytes);
  }
  engine->logits_.resize(logits);
  return engine;
}

void Engine::add_store(std::unique_ptr<stores::BlobStore> store) {
  if (tiers_ == nullptr) tiers_ = std::make_unique<Tiers>(memory_, make_fingerprint(*model_, options_.kv));
  tiers_->add(std::move(store));
}

std::unique_ptr<Recall> Engine::start_recall(std::span<const TokenId> prompt, std::string_view partition,
                                             std::chrono::milliseconds patience) {
  return tiers_ != nullptr ? tiers_->start_recall(prompt, partition, patience) : nullptr;
}

void Engine::recall(std::span<const TokenId> prompt, std::string_view partition,
                    std::chrono::milliseconds patience) {
  if (tiers_ != nullptr) tiers_->recall(prompt, partition, patience);
}

}  // namespace oxbow::engine
