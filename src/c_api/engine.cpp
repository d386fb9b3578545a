// Engines: creation and what their memory holds.

#include "engine/engine.h"

#include "c_api/arguments.h"
#include "c_api/limits.h"
#include "c_api/objects.h"

using namespace oxbow;
using namespace oxbow::c_api;

namespace {

Result<kernels::KvType> kv_type(oxbow_kv_type type) {
  if (type == OXBOW_KV_F16) return kernels::KvType::kF16;
  if (type == OXBOW_KV_F32) return kernels::KvType::kF32;
  return fail(ErrorKind::kInvalidInput, "there is no type number {} for keys and values",
              static_cast<int>(type));
}

Result<engine::EngineOptions> engine_options(const oxbow_engine_options& given) {
  engine::EngineOptions options;
  OXBOW_TRY(check_threads(given.threads));
  if (given.max_step_tokens > kMostStepTokens || given.max_outputs > kMostStepTokens) {
    return fail(ErrorKind::kInvalidInput, "a step of {} tokens with {} outputs; expected at most {}",
                given.max_step_tokens, given.max_outputs, kMostStepTokens);
  }
  options.threads = given.threads;
  if (given.max_step_tokens > 0) options.max_step_tokens = given.max_step_tokens;
  if (given.max_outputs > 0) options.max_outputs = given.max_outputs;
  options.budget_bytes = given.budget_bytes;
  options.rewind_bytes = given.rewind_bytes;
  OXBOW_ASSIGN(options.kv.key, kv_type(given.key_type));
  OXBOW_ASSIGN(options.kv.value, kv_type(given.value_type));
  return options;
}

}  // namespace

oxbow_result oxbow_engine_create(const oxbow_model* model, const oxbow_engine_options* options,
                                 oxbow_engine** engine) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(auto object, models().find(model));
    OXBOW_TRY(require(engine, "engine"));
    oxbow_engine_options given{};
    if (options != nullptr) {
      OXBOW_ASSIGN(given, read_struct(options, "options"));
    }
    OXBOW_ASSIGN(const auto wanted, engine_options(given));
    if (!object->can_run)
      return fail(ErrorKind::kInvalidState,
                  "the model was loaded with shapes_only: it has no weights to run");
    auto made = std::make_shared<EngineObject>();
    OXBOW_ASSIGN(made->engine, engine::Engine::create(object->model, wanted));
    made->model = std::move(object);
    *engine = engines().add(std::move(made));
    return {};
  });
}

oxbow_result oxbow_engine_free(oxbow_engine* engine) {
  return guarded([&]() -> Outcome { return engines().remove(engine); });
}

oxbow_result oxbow_engine_describe(oxbow_engine* engine, oxbow_engine_info* info) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    OXBOW_TRY(check_struct(info, "info"));
    engine::Engine& asked = *object->engine;
    const memory::MemoryUse use = asked.memory().use();
    oxbow_engine_info answer{};
    answer.threads = asked.threads();
    answer.max_step_tokens = asked.options().max_step_tokens;
    answer.max_outputs = asked.options().max_outputs;
    answer.reach_tokens = asked.memory().reach_rows();
    answer.budget_bytes = asked.memory().pool().budget_bytes();
    answer.free_bytes = asked.memory().pool().free_bytes();
    answer.scratch_bytes = use.scratch_bytes;
    answer.sequence_bytes = use.sequence_bytes;
    answer.checkpoint_bytes = use.checkpoint_bytes;
    answer.sequences = use.sequences;
    answer.checkpoints = use.checkpoints;
    write_struct(answer, info);
    return {};
  });
}

oxbow_result oxbow_engine_evict(oxbow_engine* engine, size_t count) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    object->engine->memory().evict(count);
    return {};
  });
}
