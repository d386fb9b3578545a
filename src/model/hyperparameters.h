#pragma once
// The settings of one architecture in a GGUF file. Every key is read by name, checked, and remembered, so
// that a setting nobody asked for is refused instead of ignored.

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "gguf/file.h"

namespace oxbow::model {

// Keys are given without the architecture's prefix: "block_count" reads "granitehybrid.block_count". Errors
// name the whole key. Numbers above 2^31 are refused.
class Hyperparameters {
 public:
  Hyperparameters(const gguf::File& file, std::string architecture);

  const std::string& architecture() const { return architecture_; }
  std::string key(std::string_view name) const;
  bool has(std::string_view name) const;
  bool is_array(std::string_view name) const;

  // block_count less the draft blocks at the end (nextn_predict_layers), which the main pass does not run.
  // Call it before anything that is per layer.
  Result<size_t> main_layers();
  size_t draft_layers() const { return draft_layers_; }

  Result<size_t> positive(std::string_view name);  // required, at least 1
  Result<size_t> size(std::string_view name);      // required
  Result<size_t> size_or(std::string_view name, size_t fallback);
  Result<double> real(std::string_view name);  // required, finite
  Result<double> real_or(std::string_view name, double fallback);
  Result<bool> flag_or(std::string_view name, bool fallback);
  Result<std::string> text_or(std::string_view name, std::string_view fallback);
  // One value per layer: an array, or one number that stands for all. An array has an entry for every block
  // of the file, draft blocks included; theirs are left out of the result.
  Result<std::vector<size_t>> per_layer(std::string_view name, size_t layers);
  Result<std::vector<size_t>> per_layer_or(std::string_view name, size_t layers, size_t fallback);

  // One truth value per layer, from a bool array as above; empty when the key is missing.
  Result<std::vector<bool>> layer_flags(std::string_view name, size_t layers);
  // An array of numbers; empty when the key is missing.
  Result<std::vector<size_t>> sizes(std::string_view name);

  // Marks keys that say nothing about the computation.
  void ignore(std::string_view name) { read_.insert(key(name)); }
  // An error that names the first key of this architecture that was neither read nor ignored.
  Status refuse_unread() const;

 private:
  Result<std::vector<size_t>> checked_sizes(const std::string& full, const std::vector<int64_t>& values);
  Status check_entries(const std::string& full, size_t entries, size_t layers) const;
  Result<std::optional<size_t>> find_size(std::string_view name);

  const gguf::File& file_;
  std::string architecture_;
  size_t draft_layers_ = 0;
  std::set<std::string, std::less<>> read_;
};

}  // namespace oxbow::model
