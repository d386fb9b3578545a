#include "c_api/objects.h"

namespace oxbow::c_api {

// The tables are never destroyed: a thread may be inside the library while the process ends.

uintptr_t next_handle() {
  // Steps of 16: what code may expect of a pointer's low bits holds.
  static std::atomic<uintptr_t> next{16};
  return next.fetch_add(16, std::memory_order_relaxed);
}

Handles<const ModelObject, oxbow_model>& models() {
  static auto& table = *new Handles<const ModelObject, oxbow_model>("model");
  return table;
}

Handles<EngineObject, oxbow_engine>& engines() {
  static auto& table = *new Handles<EngineObject, oxbow_engine>("engine");
  return table;
}

Handles<SamplerObject, oxbow_sampler>& samplers() {
  static auto& table = *new Handles<SamplerObject, oxbow_sampler>("sampler");
  return table;
}

size_t live_handles() {
  return models().size() + engines().size() + samplers().size();
}

Result<Use<EngineObject>> use_engine(const oxbow_engine* handle) {
  OXBOW_ASSIGN(auto object, engines().find(handle));
  return Use<EngineObject>::begin(std::move(object), "engine");
}

Result<Use<SamplerObject>> use_sampler(const oxbow_sampler* handle) {
  OXBOW_ASSIGN(auto object, samplers().find(handle));
  return Use<SamplerObject>::begin(std::move(object), "sampler");
}

}  // namespace oxbow::c_api
