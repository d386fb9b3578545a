// Choosing tokens.

#include "engine/sampler.h"

#include "c_api/arguments.h"
#include "c_api/objects.h"

using namespace oxbow;
using namespace oxbow::c_api;

namespace {

oxbow_sampler_settings to_c(const engine::SamplerSettings& settings) {
  oxbow_sampler_settings out{};
  out.temperature = settings.temperature;
  out.top_k = settings.top_k;
  out.top_p = settings.top_p;
  out.min_p = settings.min_p;
  out.repeat_penalty = settings.repeat_penalty;
  out.repeat_last_n = settings.repeat_last_n;
  out.seed = settings.seed;
  return out;
}

engine::SamplerSettings from_c(const oxbow_sampler_settings& settings) {
  engine::SamplerSettings out;
  out.temperature = settings.temperature;
  out.top_k = settings.top_k;
  out.top_p = settings.top_p;
  out.min_p = settings.min_p;
  out.repeat_penalty = settings.repeat_penalty;
  out.repeat_last_n = settings.repeat_last_n;
  out.seed = settings.seed;
  return out;
}

}  // namespace

oxbow_result oxbow_sampler_defaults(const oxbow_model* model, oxbow_sampler_settings* settings) {
  return guarded([&]() -> Outcome {
    OXBOW_TRY(check_struct(settings, "settings"));
    engine::SamplerSettings defaults;
    if (model != nullptr) {
      OXBOW_ASSIGN(const auto object, models().find(model));
      defaults = engine::SamplerSettings::from_file(object->model->file());
    }
    write_struct(to_c(defaults), settings);
    return {};
  });
}

oxbow_result oxbow_sampler_create(const oxbow_sampler_settings* settings, oxbow_sampler** sampler) {
  return guarded([&]() -> Outcome {
    OXBOW_TRY(require(sampler, "sampler"));
    engine::SamplerSettings wanted;
    if (settings != nullptr) {
      OXBOW_ASSIGN(const auto read, read_struct(settings, "settings", to_c(wanted)));
      wanted = from_c(read);
    }
    OXBOW_TRY(wanted.check());
    *sampler = samplers().add(std::shared_ptr<SamplerObject>(new SamplerObject{{}, engine::Sampler(wanted)}));
    return {};
  });
}

oxbow_result oxbow_sampler_free(oxbow_sampler* sampler) {
  return guarded([&]() -> Outcome { return samplers().remove(sampler); });
}

oxbow_result oxbow_sampler_sample(oxbow_sampler* sampler, const float* logits, size_t logit_count,
                                  const oxbow_token* recent, size_t recent_count, oxbow_token* token) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_sampler(sampler));
    OXBOW_ASSIGN(const auto row, list(logits, logit_count, "logits"));
    OXBOW_ASSIGN(const auto tokens, list(recent, recent_count, "recent"));
    OXBOW_TRY(require(token, "token"));
    if (row.empty() || row.size() > INT32_MAX)
      return fail(ErrorKind::kInvalidInput, "a row of {} logits; expected 1 to {}", row.size(), INT32_MAX);
    *token = object->sampler.sample(row, tokens);
    return {};
  });
}
