#include "cli/loading.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/cpu.h"
#include "cli/interrupt.h"
#include "cli/model_path.h"
#include "cli/progress.h"
#include "cli/statistics.h"
#include "store/disk_store.h"
#include "store/redis_store.h"

namespace oxbow::cli {
namespace {

constexpr size_t kStatesInUse =
    4;  // working state, base, the next base while it is made, and a copy after a rewind

std::string with_name(const std::string& path, const std::string& message) {
  return message.find(path) == std::string::npos ? fmt::format("{}: {}", path, message) : message;
}

}  // namespace

Result<std::shared_ptr<const gguf::File>> open_model_file(const ModelOptions& options) {
  OXBOW_ASSIGN(const std::string path, find_model(options.model));
  auto file = gguf::File::open(path);
  if (!file) return fail(file.error().kind, "{}", with_name(path, file.error().message));
  return std::make_shared<const gguf::File>(std::move(*file));
}

Result<std::shared_ptr<const model::Model>> load_model(std::shared_ptr<const gguf::File> file,
                                                       const ModelOptions& options, Weights weights,
                                                       Console& console, const LoadProgress& also) {
  Progress progress(console, format_load);
  model::LoadOptions load;
  load.allow_unknown = options.allow_unknown;
  load.decode_weights = weights == Weights::kExact;
  load.shapes_only = weights == Weights::kShapesOnly;
  load.progress = [&](size_t done, size_t total) {
    progress.update(done, total);
    return pending_interrupt() == 0 && (!also || also(done, total));
  };
  ThreadPool pool(options.threads > 0 ? options.threads : usable_cores());
  auto loaded = model::Model::load(file, pool, load);
  if (loaded) return std::shared_ptr<const model::Model>(std::move(*loaded));
  Error error = std::move(loaded).error();
  error.message = with_name(file->path(), error.message);
  if (error.kind == ErrorKind::kUnsupported &&
      error.message.find("it may change the results") != std::string::npos) {
    error.message += "; --allow-unknown runs it all the same";
  }
  return tl::unexpected<Error>(std::move(error));
}

Result<std::unique_ptr<text::Tokenizer>> load_tokenizer(const gguf::File& file) {
  auto tokenizer = text::Tokenizer::from_gguf(file);
  if (!tokenizer)
    return fail(tokenizer.error().kind, "{}", with_name(file.path(), tokenizer.error().message));
  return tokenizer;
}

size_t budget_bytes(const MemoryChoices& memory) {
  return memory.budget_mib << 20;
}

Result<std::unique_ptr<engine::Engine>> make_engine(std::shared_ptr<const model::Model> model,
                                                    const MemoryChoices& memory, int threads, size_t batch,
                                                    size_t outputs) {
  engine::EngineOptions options;
  options.threads = threads;
  options.max_step_tokens = batch;
  options.max_outputs = outputs;
  options.budget_bytes = budget_bytes(memory);
  options.rewind_bytes = memory.rewind_bytes;
  options.kv = memory.kv;
  auto engine = engine::Engine::create(std::move(model), options);
  if (!engine) return tl::unexpected<Error>(with_advice(std::move(engine).error()));
  if (!memory.disk_folder.empty()) {
    OXBOW_ASSIGN(auto store, stores::DiskStore::open(
                                 {.directory = memory.disk_folder, .limit_bytes = memory.disk_bytes}));
    (*engine)->add_store(std::move(store));
  }
  if (!memory.redis.empty()) {
    stores::RedisOptions redis;
    OXBOW_ASSIGN(redis.server, stores::parse_redis_server(memory.redis));
    if (!memory.redis_key_file.empty()) {
      OXBOW_ASSIGN(redis.authentication_key, stores::read_key_file(memory.redis_key_file));
    }
    if (const char* password = std::getenv("OXBOW_REDIS_PASSWORD")) redis.server.password = password;
    (*engine)->add_store(std::make_unique<stores::RedisStore>(std::move(redis)));
  }
  return engine;
}

size_t tokens_that_fit(const memory::MemoryLayout& layout, size_t reach_rows, size_t free_bytes) {
  size_t fixed =
      kStatesInUse * layout.state_bytes() + (reach_rows + 2 * memory::kRowPageTokens) * layout.row_bytes();
  for (const memory::KvGroup& group : layout.groups()) fixed += 2 * group.page_bytes;
  if (fixed >= free_bytes) return 0;
  const size_t per_token = layout.kv_bytes_per_token();
  return per_token == 0 ? SIZE_MAX : (free_bytes - fixed) / per_token;
}

size_t choose_context(const MemoryChoices& choices, const model::Model& model, const memory::Memory& memory,
                      Console& console) {
  const size_t trained = std::max<size_t>(model.context_length(), 1);
  const size_t fitting = tokens_that_fit(memory.layout(), memory.reach_rows(), memory.pool().free_bytes());
  if (choices.context < 0) return std::max<size_t>(std::min(trained, fitting), 1);
  const size_t wanted = choices.context == 0 ? trained : static_cast<size_t>(choices.context);
  if (wanted > trained) {
    console.warn(
        fmt::format("the context of {} tokens is longer than the {} that the model was trained with; what it "
                    "writes there may be poor",
                    wanted, trained));
  }
  if (wanted > fitting) {
    console.warn(
        fmt::format("the memory of {} holds about {} tokens, less than the context of {}; --cache-ram MiB "
                    "gives more",
                    format_bytes(memory.pool().budget_bytes()), fitting, wanted));
  }
  return wanted;
}

Error with_advice(Error error) {
  if (error.kind == ErrorKind::kOutOfBudget && error.message.find("-c") == std::string::npos &&
      error.message.find("--cache-ram") == std::string::npos) {
    error.message += "; --cache-ram MiB allows more memory";
  }
  return error;
}

}  // namespace oxbow::cli
