#include "engine/tiny_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <stdexcept>

#include "gguf/writer.h"
#include "quant/blocks.h"

namespace oxbow::testing {
namespace {

using gguf::TensorType;
using model::TinyModel;

// Pseudo-random numbers (Steele et al. 2014, SplitMix64).
class Random {
 public:
  explicit Random(std::string_view name) {
    for (const char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  float uniform(float low, float high) {
    return low + (high - low) * static_cast<float>(next() >> 40) * 0x1p-24f;
  }
  // Mean 0, deviation 1: a sum of four uniform numbers.
  float normal() {
    float sum = 0.0f;
    for (int i = 0; i < 4; ++i) sum += uniform(-1.0f, 1.0f);
    return sum * 0.8660254f;
  }

 private:
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  uint64_t state_ = 0xcbf29ce484222325ULL;
};

// "blk.3.ssm_a" -> "ssm_a"
std::string_view part_of(std::string_view tensor) {
  if (!tensor.starts_with("blk.")) return tensor;
  const size_t dot = tensor.find('.', 4);
  return dot == std::string_view::npos ? tensor : tensor.substr(dot + 1);
}

bool is_named(std::string_view tensor, std::string_view name) {
  return tensor == name || part_of(tensor) == name;
}

// One value of a tensor of that name whose rows are `cols` long.
float draw(Random& random, std::string_view part, uint64_t cols, bool is_vector) {
  const bool bias = part.ends_with(".bias");
  if (part == "ssm_a") return -std::exp(random.uniform(-3.0f, 1.4f));  // decay rates 0.05 to 4
  if (part == "ssm_dt.bias") {
    return std::log(std::expm1(std::exp(random.uniform(-4.6f, -0.7f))));  // step widths 0.01 to 0.5
  }
  if (bias) return 0.1f * random.normal();
  if (part.find("norm") != std::string_view::npos || part.ends_with("_ln.weight") || part == "ssm_d") {
    return 1.0f + 0.1f * random.normal();
  }
  if (is_vector) return 0.3f * random.normal();
  return random.normal() / std::sqrt(static_cast<float>(cols));
}

// Makes each tensor when it is asked for the first time.
class Maker : public model::TensorMaker {
 public:
  Maker(const TinyModel& model, TinyWeights weights) : model_(model), weights_(weights) {}

  bool has(std::string_view name) override {
    bool found = false;
    for (size_t i = 0; i < model_.optional.size(); ++i) {
      if (is_named(name, model_.optional[i])) found = used_[model_.optional[i]] = true;
    }
    return found || tensors_.contains(std::string(name));
  }

  const gguf::Tensor* make(const std::string& name, const std::vector<uint64_t>& shape,
                           model::TensorUse use) override {
    const auto known = tensors_.find(name);
    if (known != tensors_.end()) return &known->second;
    gguf::Tensor tensor{name, type_of(name, shape[0], use), shape, 1, {}, 0};
    for (const uint64_t size : shape) tensor.elements *= size;
    const std::vector<float> values = draw_all(tensor);
    std::vector<std::byte>& data = data_.emplace_back(*gguf::tensor_bytes(tensor.type, tensor.elements));
    const Status encoded = quant::encode(tensor.type, values, data);
    if (!encoded) throw std::runtime_error(encoded.error().message);
    tensor.data = data;
    order_.push_back(name);
    return &tensors_.emplace(name, std::move(tensor)).first->second;
  }

  void write(gguf::Writer& writer) const {
    for (const std::string& name : order_) {
      const gguf::Tensor& tensor = tensors_.at(name);
      writer.add_tensor(name, tensor.type, tensor.shape, tensor.data);
    }
  }

  Status check_all_used() {
    const auto check = [&](std::string_view what, std::string_view name) -> Status {
      if (used_[name]) return {};
      return fail(ErrorKind::kInvalidInput, "the {} of {} is for a tensor that nothing asks for", what, name);
    };
    for (std::string_view name : model_.optional) OXBOW_TRY(check("entry", name));
    for (const auto& type : model_.types) OXBOW_TRY(check("type", type.tensor));
    for (const auto& range : model_.ranges) OXBOW_TRY(check("range", range.tensor));
    return {};
  }

 private:
  TensorType type_of(const std::string& name, uint64_t cols, model::TensorUse use) {
    for (const auto& [tensor, type] : model_.types) {
      if (!is_named(name, tensor)) continue;
      used_[tensor] = true;
      return type;
    }
    const bool blocks = use == model::TensorUse::kMatrix && weights_ == TinyWeights::kBlocks;
    return blocks && cols % 32 == 0 ? TensorType::kQ8_0 : TensorType::kF32;
  }

  std::vector<float> draw_all(const gguf::Tensor& tensor) {
    Random random(tensor.name);
    std::vector<float> values(tensor.elements);
    for (const auto& range : model_.ranges) {
      if (!is_named(tensor.name, range.tensor)) continue;
      used_[range.tensor] = true;
      for (float& value : values) value = random.uniform(range.low, range.high);
      return values;
    }
    const bool is_vector = tensor.elements == tensor.shape[0];
    for (float& value : values) value = draw(random, part_of(tensor.name), tensor.shape[0], is_vector);
    return values;
  }

  const TinyModel& model_;
  TinyWeights weights_;
  std::map<std::string, gguf::Tensor> tensors_;
  std::vector<std::string> order_;
  std::deque<std::vector<std::byte>> data_;
  std::map<std::string_view, bool> used_;
};

void add_settings(gguf::Writer& writer, std::string_view architecture, const TinyModel& model) {
  writer.add_string("general.architecture", architecture);
  std::vector<std::string> tokens;
  for (size_t i = 0; i < kTinyVocabulary; ++i) tokens.push_back(fmt::format("token {}", i));
  writer.add_array("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
  for (const TinyModel::Setting& setting : model.settings) {
    const std::string key = fmt::format("{}.{}", architecture, setting.key);
    std::visit(
        [&](const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, uint32_t>) writer.add_uint32(key, value);
          if constexpr (std::is_same_v<Value, float>) writer.add_float32(key, value);
          if constexpr (std::is_same_v<Value, bool>) writer.add_bool(key, value);
          if constexpr (std::is_same_v<Value, std::string_view>) writer.add_string(key, value);
          if constexpr (std::is_same_v<Value, std::vector<int32_t>>) {
            writer.add_array(key, std::span<const int32_t>(value));
          }
          if constexpr (std::is_same_v<Value, std::vector<bool>>) writer.add_bool_array(key, value);
        },
        setting.value);
  }
}

std::pair<const model::Architecture*, size_t> find(const std::string& name) {
  const size_t dot = name.find('.');
  const model::Architecture* architecture = model::find_architecture(name.substr(0, dot));
  if (architecture != nullptr && dot != std::string::npos) {
    const std::vector<TinyModel> models = architecture->tiny_models();
    const auto found = std::ranges::find(models, name.substr(dot + 1), &TinyModel::name);
    if (found != models.end()) return {architecture, static_cast<size_t>(found - models.begin())};
  }
  throw std::runtime_error("there is no tiny model " + name);
}

}  // namespace

std::vector<std::string> tiny_model_names() {
  std::vector<std::string> names;
  for (const model::Architecture& architecture : model::architectures()) {
    for (const TinyModel& model : architecture.tiny_models()) {
      names.push_back(fmt::format("{}.{}", architecture.name, model.name));
    }
  }
  return names;
}

Result<std::shared_ptr<const model::Model>> load_bytes(std::vector<std::byte> bytes, const std::string& name,
                                                       const model::LoadOptions& options) {
  // The file of the model reads from here as long as the model lives.
  auto kept = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  OXBOW_ASSIGN(gguf::File file, gguf::File::parse(*kept, name));
  std::shared_ptr<const gguf::File> shared(new gguf::File(std::move(file)),
                                           [kept](const gguf::File* held) { delete held; });
  ThreadPool pool(1);
  OXBOW_ASSIGN(auto model, model::Model::load(std::move(shared), pool, options));
  return std::shared_ptr<const model::Model>(std::move(model));
}

Result<std::vector<std::byte>> make_tiny_file(std::string_view architecture, const TinyModel& model,
                                              TinyWeights weights) {
  gguf::Writer writer;
  add_settings(writer, architecture, model);
  Maker maker(model, weights);
  model::LoadOptions options;
  options.shapes_only = true;
  options.maker = &maker;
  OXBOW_ASSIGN(std::vector<std::byte> settings, writer.bytes());
  OXBOW_TRY(load_bytes(std::move(settings), fmt::format("{}.{}", architecture, model.name), options));
  OXBOW_TRY(maker.check_all_used());
  maker.write(writer);
  return writer.bytes();
}

std::shared_ptr<const model::Model> load_tiny(const std::string& name, TinyWeights weights) {
  const auto [architecture, index] = find(name);
  const std::vector<TinyModel> models = architecture->tiny_models();
  auto bytes = make_tiny_file(architecture->name, models[index], weights);
  if (!bytes) throw std::runtime_error(bytes.error().message);
  auto model = load_bytes(std::move(*bytes), name);
  if (!model) throw std::runtime_error(model.error().message);
  return *model;
}

}  // namespace oxbow::testing
