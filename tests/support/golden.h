#pragma once
// Reader of the golden files (shared folder, golden/README.md): NAME.json with settings and token ids,
// NAME.npz with the arrays, whose byte offsets the JSON file gives.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace oxbow::testing {

// The path of a file in the golden folder, for example golden_path("llama-tiny.gguf").
std::string golden_path(std::string_view file);

// The names of all models that have NAME.gguf and NAME.json, sorted.
std::vector<std::string> golden_models();

// One golden pair, read whole. A missing file, key or array throws std::runtime_error with its name: the test
// that asked fails with that message.
class Golden {
 public:
  // name is "llama-tiny" or the like, or a path without the ending; "quant-blocks" for the block vectors.
  explicit Golden(const std::string& name);

  const std::string& name() const { return name_; }
  std::string model_path() const { return golden_path(name_ + ".gguf"); }

  // Entries of the JSON file. A key is a name ("suggested_atol") or a path with slashes ("settings/n_batch").
  bool has(std::string_view key) const;
  double number(std::string_view key) const;
  std::string string(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::vector<int32_t> integers(std::string_view key) const;
  std::vector<int32_t> tokens() const { return integers("tokens"); }
  std::vector<std::string> keys_of(std::string_view key) const;

  // Arrays: shape as numpy has it (slowest dimension first), values in that order.
  bool has_array(std::string_view array) const;
  std::vector<size_t> shape(std::string_view array) const;
  std::vector<float> floats(std::string_view array) const;
  std::vector<std::byte> bytes(std::string_view array) const;

 private:
  struct Contents;
  std::string name_;
  std::shared_ptr<const Contents> contents_;
};

}  // namespace oxbow::testing
