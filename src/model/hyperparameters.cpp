#include "model/hyperparameters.h"

#include <cmath>

namespace oxbow::model {
namespace {

constexpr int64_t kLargest = int64_t{1} << 31;
constexpr size_t kMostLayers = 4096;

tl::unexpected<Error> missing(const std::string& key) {
  return fail(ErrorKind::kInvalidInput, "the metadata key {} is missing", key);
}

}  // namespace

Hyperparameters::Hyperparameters(const gguf::File& file, std::string architecture)
    : file_(file), architecture_(std::move(architecture)) {}

std::string Hyperparameters::key(std::string_view name) const {
  return fmt::format("{}.{}", architecture_, name);
}

bool Hyperparameters::has(std::string_view name) const {
  return file_.find(key(name)) != nullptr;
}

bool Hyperparameters::is_array(std::string_view name) const {
  const gguf::Value* value = file_.find(key(name));
  return value != nullptr && value->type == gguf::ValueType::kArray;
}

Result<size_t> Hyperparameters::main_layers() {
  OXBOW_ASSIGN(const size_t blocks, positive("block_count"));
  if (blocks > kMostLayers) {
    return fail(ErrorKind::kInvalidInput, "{} is {}, expected 1 to {}", key("block_count"), blocks,
                kMostLayers);
  }
  OXBOW_ASSIGN(draft_layers_, size_or("nextn_predict_layers", 0));
  if (draft_layers_ >= blocks) {
    return fail(ErrorKind::kInvalidInput, "{} is {}, expected less than {} = {}", key("nextn_predict_layers"),
                draft_layers_, key("block_count"), blocks);
  }
  return blocks - draft_layers_;
}

Status Hyperparameters::check_entries(const std::string& full, size_t entries, size_t layers) const {
  const size_t expected = layers + draft_layers_;
  if (entries == expected) return {};
  return fail(ErrorKind::kInvalidInput, "{} has {} entries, expected one for each of the {} layers", full,
              entries, expected);
}

Result<std::optional<size_t>> Hyperparameters::find_size(std::string_view name) {
  const std::string full = key(name);
  read_.insert(full);
  OXBOW_ASSIGN(const auto value, file_.find_int(full));
  if (!value) return std::nullopt;
  if (*value < 0 || *value > kLargest) {
    return fail(ErrorKind::kInvalidInput, "{} is {}, expected 0 to {}", full, *value, kLargest);
  }
  return static_cast<size_t>(*value);
}

Result<size_t> Hyperparameters::size(std::string_view name) {
  OXBOW_ASSIGN(const auto value, find_size(name));
  if (!value) return missing(key(name));
  return *value;
}

Result<size_t> Hyperparameters::positive(std::string_view name) {
  OXBOW_ASSIGN(const size_t value, size(name));
  if (value == 0) return fail(ErrorKind::kInvalidInput, "{} is 0, expected at least 1", key(name));
  return value;
}

Result<size_t> Hyperparameters::size_or(std::string_view name, size_t fallback) {
  OXBOW_ASSIGN(const auto value, find_size(name));
  return value.value_or(fallback);
}

Result<double> Hyperparameters::real_or(std::string_view name, double fallback) {
  const std::string full = key(name);
  read_.insert(full);
  OXBOW_ASSIGN(const auto value, file_.find_float(full));
  if (value && !std::isfinite(*value))
    return fail(ErrorKind::kInvalidInput, "{} is not a finite number", full);
  return value.value_or(fallback);
}

Result<double> Hyperparameters::real(std::string_view name) {
  if (!has(name)) return missing(key(name));
  return real_or(name, 0.0);
}

Result<bool> Hyperparameters::flag_or(std::string_view name, bool fallback) {
  const std::string full = key(name);
  read_.insert(full);
  OXBOW_ASSIGN(const auto value, file_.find_bool(full));
  return value.value_or(fallback);
}

Result<std::string> Hyperparameters::text_or(std::string_view name, std::string_view fallback) {
  const std::string full = key(name);
  read_.insert(full);
  OXBOW_ASSIGN(const auto value, file_.find_string(full));
  return std::string(value.value_or(fallback));
}

Result<std::vector<size_t>> Hyperparameters::per_layer(std::string_view name, size_t layers) {
  const std::string full = key(name);
  const gguf::Value* value = file_.find(full);
  if (value == nullptr) return missing(full);
  if (value->type != gguf::ValueType::kArray) {
    OXBOW_ASSIGN(const size_t all, size(name));
    return std::vector<size_t>(layers, all);
  }
  read_.insert(full);
  OXBOW_ASSIGN(const auto values, file_.find_int_array(full));
  OXBOW_TRY(check_entries(full, values->size(), layers));
  OXBOW_ASSIGN(std::vector<size_t> sizes, checked_sizes(full, *values));
  sizes.resize(layers);
  return sizes;
}

Result<std::vector<size_t>> Hyperparameters::checked_sizes(const std::string& full,
                                                           const std::vector<int64_t>& values) {
  std::vector<size_t> sizes;
  for (const int64_t entry : values) {
    if (entry < 0 || entry > kLargest) {
      return fail(ErrorKind::kInvalidInput, "{} holds {}, expected 0 to {}", full, entry, kLargest);
    }
    sizes.push_back(static_cast<size_t>(entry));
  }
  return sizes;
}

Result<std::vector<size_t>> Hyperparameters::sizes(std::string_view name) {
  const std::string full = key(name);
  read_.insert(full);
  OXBOW_ASSIGN(const auto values, file_.find_int_array(full));
  return values ? checked_sizes(full, *values) : std::vector<size_t>();
}

Result<std::vector<bool>> Hyperparameters::layer_flags(std::string_view name, size_t layers) {
  const std::string full = key(name);
  read_.insert(full);
  OXBOW_ASSIGN(auto values, file_.find_bool_array(full));
  if (!values) return std::vector<bool>();
  OXBOW_TRY(check_entries(full, values->size(), layers));
  values->resize(layers);
  return std::move(*values);
}

Result<std::vector<size_t>> Hyperparameters::per_layer_or(std::string_view name, size_t layers,
                                                          size_t fallback) {
  if (!has(name)) return std::vector<size_t>(layers, fallback);
  return per_layer(name, layers);
}

Status Hyperparameters::refuse_unread() const {
  const std::string prefix = architecture_ + ".";
  for (const auto& [name, value] : file_.metadata()) {
    if (name.starts_with(prefix) && !read_.contains(name)) {
      return fail(ErrorKind::kUnsupported,
                  "the metadata key {} is not known for this architecture; it may change the results", name);
    }
  }
  return {};
}

}  // namespace oxbow::model
