#pragma once
// The objects behind the handles.

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "c_api/handles.h"
#include "engine/engine.h"
#include "engine/sampler.h"
#include "engine/session_file.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace oxbow::c_api {

// Immutable once made.
struct ModelObject {
  std::shared_ptr<const model::Model> model;
  bool can_run = true;
  std::unique_ptr<const text::Tokenizer> tokenizer;  // null: `tokenizer_problem` says why
  Error tokenizer_problem{};
  std::vector<std::string> layer_letters;
};

// For one thread at a time: see Use.
struct EngineObject {
  std::atomic_flag busy;
  std::shared_ptr<const ModelObject> model;
  std::unique_ptr<engine::Engine> engine;
  engine::RestoredSession restored;  // what the latest restore gave pointers into
};

struct SamplerObject {
  std::atomic_flag busy;
  engine::Sampler sampler;
};

Handles<const ModelObject, oxbow_model>& models();
Handles<EngineObject, oxbow_engine>& engines();
Handles<SamplerObject, oxbow_sampler>& samplers();

// The use of an object by the calling thread, until it is destroyed.
template <typename Object>
class Use {
 public:
  // kInvalidState when another thread uses it.
  static Result<Use> begin(std::shared_ptr<Object> object, const char* what) {
    if (object->busy.test_and_set(std::memory_order_acquire)) {
      return fail(ErrorKind::kInvalidState, "another thread is using the {}", what);
    }
    return Use(std::move(object));
  }
  Use(Use&&) noexcept = default;
  Use& operator=(Use&&) = delete;
  ~Use() {
    if (object_) object_->busy.clear(std::memory_order_release);
  }

  Object& operator*() const { return *object_; }
  Object* operator->() const { return object_.get(); }

 private:
  explicit Use(std::shared_ptr<Object> object) : object_(std::move(object)) {}
  std::shared_ptr<Object> object_;
};

Result<Use<EngineObject>> use_engine(const oxbow_engine* handle);
Result<Use<SamplerObject>> use_sampler(const oxbow_sampler* handle);

}  // namespace oxbow::c_api
