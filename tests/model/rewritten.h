#pragma once
// A golden model, rewritten with changes: keys replaced, dropped or added, tensors dropped, reshaped or
// added.

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/harness.h"
#include "gguf/writer.h"
#include "model/model.h"

namespace oxbow::model {

class Rewritten {
 public:
  // name is one of tests/golden.
  explicit Rewritten(const std::string& name)
      : source_(std::make_shared<const gguf::File>(
            *gguf::File::open(oxbow::testing::source_path("tests/golden/" + name + ".gguf")))) {}

  const gguf::File& source() const { return *source_; }

  // Drops a key or a tensor.
  Rewritten& without(std::string name) {
    dropped_.push_back(std::move(name));
    return *this;
  }
  Rewritten& with(std::function<void(gguf::Writer&)> add) {
    additions_.push_back(std::move(add));
    return *this;
  }
  Rewritten& replace(const std::string& key, std::function<void(gguf::Writer&)> add) {
    return without(key).with(std::move(add));
  }
  // The data is cut, or repeated, to what the shape holds.
  Rewritten& reshaped(std::string tensor, std::vector<uint64_t> shape) {
    reshaped_[std::move(tensor)] = std::move(shape);
    return *this;
  }

  Result<std::unique_ptr<Model>> load(const LoadOptions& options = {}) {
    gguf::Writer writer;
    for (const auto& [key, value] : source_->metadata()) {
      if (!is_dropped(key)) writer.add_value(key, value);
    }
    for (const auto& add : additions_) add(writer);
    for (const gguf::Tensor& tensor : source_->tensors()) {
      if (!is_dropped(tensor.name)) add_tensor(writer, tensor);
    }
    OXBOW_ASSIGN(const std::vector<std::byte> bytes, writer.bytes());
    // The file of the model reads from here as long as the model lives.
    auto kept = std::make_shared<std::vector<std::byte>>(bytes);
    OXBOW_ASSIGN(gguf::File file, gguf::File::parse(*kept, "test.gguf"));
    std::shared_ptr<const gguf::File> shared(new gguf::File(std::move(file)),
                                             [kept](const gguf::File* held) { delete held; });
    ThreadPool pool(1);
    return Model::load(std::move(shared), pool, options);
  }

  std::string error(const LoadOptions& options = {}) {
    const auto model = load(options);
    return model ? "" : model.error().message;
  }

 private:
  bool is_dropped(std::string_view name) const { return std::ranges::find(dropped_, name) != dropped_.end(); }

  void add_tensor(gguf::Writer& writer, const gguf::Tensor& tensor) const {
    const auto changed = reshaped_.find(tensor.name);
    if (changed == reshaped_.end()) {
      writer.add_tensor(tensor.name, tensor.type, tensor.shape, tensor.data);
      return;
    }
    uint64_t rows = 1;
    for (size_t i = 1; i < changed->second.size(); ++i) rows *= changed->second[i];
    std::vector<std::byte> data(gguf::tensor_bytes(tensor.type, changed->second[0]).value_or(0) * rows);
    for (size_t i = 0; i < data.size(); ++i) data[i] = tensor.data[i % tensor.data.size()];
    writer.add_tensor(tensor.name, tensor.type, changed->second, data);
  }

  std::shared_ptr<const gguf::File> source_;
  std::vector<std::string> dropped_;
  std::vector<std::function<void(gguf::Writer&)>> additions_;
  std::map<std::string, std::vector<uint64_t>> reshaped_;
};

}  // namespace oxbow::model
