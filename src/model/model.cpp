#include "model/model.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "model/architectures.h"
#include "model/hyperparameters.h"

namespace oxbow::model {

size_t Network::add_rope(const RopeConfig& config) {
  const auto found = std::ranges::find(ropes, config);
  if (found != ropes.end()) return static_cast<size_t>(found - ropes.begin());
  ropes.push_back(config);
  return ropes.size() - 1;
}

Result<std::unique_ptr<Model>> Model::load(std::shared_ptr<const gguf::File> file, ThreadPool& pool,
                                           const LoadOptions& options) {
  auto model = build(file, pool, options);
  if (model || model.error().kind == ErrorKind::kInvalidState) return model;
  return fail(model.error().kind, "{}: {}", file->path(), model.error().message);
}

Result<std::unique_ptr<Model>> Model::build(std::shared_ptr<const gguf::File> file, ThreadPool& pool,
                                            const LoadOptions& options) {
  OXBOW_ASSIGN(const auto name, file->find_string("general.architecture"));
  if (!name) return fail(ErrorKind::kInvalidInput, "the metadata key general.architecture is missing");
  const Architecture* architecture = find_architecture(*name);
  if (architecture == nullptr) {
    return fail(ErrorKind::kUnsupported, "the architecture \"{}\" is not supported; this build runs {}",
                *name, fmt::join(architecture_names(), ", "));
  }
  std::unique_ptr<Model> model(new Model());
  model->file_ = file;
  model->architecture_ = std::string(*name);
  Hyperparameters hyperparameters(*file, model->architecture_);
  WeightLoader weights(*file, pool, options);
  OXBOW_ASSIGN(model->network_, architecture->build(hyperparameters, weights));
  if (!options.allow_unknown) {
    OXBOW_TRY(hyperparameters.refuse_unread());
    OXBOW_TRY(weights.refuse_unread());
  }
  for (const RopeConfig& config : model->network_.ropes) model->ropes_.emplace_back(config);
  for (size_t i = 0; i < model->network_.layers.size(); ++i) {
    const auto keep = [&](memory::StateSpec spec) {
      spec.layer = static_cast<uint32_t>(i);
      model->state_specs_.push_back(spec);
    };
    for (const auto& mixer : model->network_.layers[i].mixers) keep(mixer->state_spec());
    for (const auto& part : model->network_.layers[i].feed_forwards) {
      if (const auto spec = part->state_spec()) keep(*spec);
    }
  }
  for (const gguf::Tensor& tensor : file->tensors()) model->parameter_count_ += tensor.elements;
  return model;
}

size_t Model::weight_bytes() const {
  size_t bytes = network_.output.size_bytes();
  for (const Layer& layer : network_.layers) {
    for (const auto& mixer : layer.mixers) bytes += mixer->weight_bytes();
    for (const auto& feed_forward : layer.feed_forwards) bytes += feed_forward->weight_bytes();
  }
  return bytes;
}

std::string Model::layer_letters(size_t index) const {
  const Layer& layer = network_.layers[index];
  std::string letters;
  for (const auto& mixer : layer.mixers) letters += mixer->letter();
  if (layer.feed_forwards.empty()) return letters;
  const bool experts =
      std::ranges::any_of(layer.feed_forwards, [](const auto& part) { return part->has_experts(); });
  letters += experts ? 'E' : 'F';
  return letters;
}

}  // namespace oxbow::model
