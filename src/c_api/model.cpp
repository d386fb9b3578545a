// Loading a model and asking it.

#include "model/model.h"

#include <algorithm>

#include "base/cpu.h"
#include "c_api/arguments.h"
#include "c_api/limits.h"
#include "c_api/objects.h"
#include "memory/layout.h"

using namespace oxbow;
using namespace oxbow::c_api;

namespace {

Error with_path(const char* path, Error error) {
  if (error.message.find(path) == std::string::npos)
    error.message = fmt::format("{}: {}", path, error.message);
  return error;
}

Result<std::shared_ptr<const ModelObject>> load(const char* path, const oxbow_model_options& given) {
  OXBOW_TRY(check_threads(given.threads));
  auto file = gguf::File::open(path);
  if (!file) return tl::unexpected<Error>(with_path(path, std::move(file).error()));
  const auto shared = std::make_shared<const gguf::File>(std::move(*file));

  model::LoadOptions options;
  options.allow_unknown = given.allow_unknown;
  options.shapes_only = given.shapes_only;
  options.decode_weights = given.exact;
  if (given.progress != nullptr) {
    options.progress = [&](size_t done, size_t total) {
      return given.progress(done, total, given.progress_user);
    };
  }
  ThreadPool pool(given.threads > 0 ? given.threads : usable_cores());
  auto loaded = model::Model::load(shared, pool, options);
  if (!loaded) return tl::unexpected<Error>(with_path(path, std::move(loaded).error()));

  auto object = std::make_shared<ModelObject>();
  object->model = std::move(*loaded);
  object->can_run = !given.shapes_only;
  auto tokenizer = text::Tokenizer::from_gguf(*shared);
  if (tokenizer) {
    object->tokenizer = std::move(*tokenizer);
  } else {
    object->tokenizer_problem = with_path(path, std::move(tokenizer).error());
  }
  for (size_t i = 0; i < object->model->layer_count(); ++i)
    object->layer_letters.push_back(object->model->layer_letters(i));
  return object;
}

}  // namespace

oxbow_result oxbow_model_load(const char* path, const oxbow_model_options* options, oxbow_model** model) {
  return guarded([&]() -> Outcome {
    OXBOW_TRY(require(path, "path"));
    OXBOW_TRY(require(model, "model"));
    oxbow_model_options given{};
    if (options != nullptr) {
      OXBOW_ASSIGN(given, read_struct(options, "options"));
    }
    OXBOW_ASSIGN(auto object, load(path, given));
    *model = models().add(std::move(object));
    return {};
  });
}

oxbow_result oxbow_model_free(oxbow_model* model) {
  return guarded([&]() -> Outcome { return models().remove(model); });
}

oxbow_result oxbow_model_describe(const oxbow_model* model, oxbow_model_info* info) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, models().find(model));
    OXBOW_TRY(check_struct(info, "info"));
    const model::Model& asked = *object->model;
    const memory::MemoryLayout layout(asked.state_specs(), {});
    oxbow_model_info answer{};
    answer.architecture = asked.architecture().c_str();
    answer.is_recurrent = asked.is_recurrent();
    answer.is_hybrid = asked.is_hybrid();
    answer.layers = asked.layer_count();
    answer.embedding = asked.embedding();
    answer.vocabulary = asked.vocabulary();
    answer.context_length = asked.context_length();
    answer.parameters = asked.parameter_count();
    answer.weight_bytes = asked.weight_bytes();
    answer.state_bytes = layout.state_bytes();
    answer.log_row_bytes = layout.row_bytes();
    answer.kv_bytes_per_token = layout.kv_bytes_per_token();
    answer.has_tokenizer = object->tokenizer != nullptr;
    write_struct(answer, info);
    return {};
  });
}

bool oxbow_model_is_recurrent(const oxbow_model* model) {
  bool answer = false;
  (void)guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, models().find(model));
    answer = object->model->is_recurrent();
    return {};
  });
  return answer;
}

bool oxbow_model_is_hybrid(const oxbow_model* model) {
  bool answer = false;
  (void)guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, models().find(model));
    answer = object->model->is_hybrid();
    return {};
  });
  return answer;
}

oxbow_result oxbow_model_describe_layer(const oxbow_model* model, size_t layer, oxbow_layer_info* info) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, models().find(model));
    OXBOW_TRY(check_struct(info, "info"));
    const model::Model& asked = *object->model;
    if (layer >= asked.layer_count())
      return fail(ErrorKind::kInvalidInput, "layer {} of a model with {}", layer, asked.layer_count());
    std::vector<memory::StateSpec> specs;
    std::ranges::copy_if(asked.state_specs(), std::back_inserter(specs),
                         [&](const memory::StateSpec& spec) { return spec.layer == layer; });
    const memory::MemoryLayout layout(specs, {});
    oxbow_layer_info answer{};
    answer.letters = object->layer_letters[layer].c_str();
    answer.state_bytes = layout.state_bytes();
    answer.log_row_bytes = layout.row_bytes();
    answer.kv_bytes_per_token = layout.kv_bytes_per_token();
    for (const memory::KvGroup& group : layout.groups())
      answer.window_tokens = std::max(answer.window_tokens, group.window_tokens);
    write_struct(answer, info);
    return {};
  });
}
