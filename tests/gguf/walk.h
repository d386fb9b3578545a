#pragma once
// Reads everything that a File offers; for tests and the fuzzer, which want every view checked and every byte
// touched.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "gguf/file.h"
#include "gguf/writer.h"

namespace oxbow::gguf::testing {

class Walker {
 public:
  // bytes is what the file was parsed from.
  explicit Walker(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // True when every view lies inside of the bytes, every name is found and every conversion gives a value or
  // an error.
  bool walk(const File& file) {
    for (const auto& [key, value] : file.metadata()) {
      if (file.find(key) != &value) return false;
      visit(value);
      convert(file, key);
    }
    for (const Tensor& tensor : file.tensors()) {
      if (file.find_tensor(tensor.name) != &tensor || tensor.elements == 0) return false;
      if (tensor.data.size() != tensor_bytes(tensor.type, tensor.elements)) return false;
      visit(tensor.data);
    }
    return in_range_;
  }

  uint64_t sum() const { return sum_; }

 private:
  void visit(std::span<const std::byte> view) {
    if (view.empty()) return;
    if (view.data() < bytes_.data() || view.data() + view.size() > bytes_.data() + bytes_.size())
      in_range_ = false;
    for (const std::byte byte : view) sum_ += static_cast<uint64_t>(byte);
  }
  void visit(std::string_view text) { visit(std::as_bytes(std::span(text))); }
  void visit(const Array& array) {
    visit(array.numbers);
    for (const auto text : array.strings) visit(text);
    for (const auto& inner : array.arrays) visit(inner);
  }
  void visit(const Value& value) {
    if (const auto* text = std::get_if<std::string_view>(&value.data)) visit(*text);
    if (const auto* array = std::get_if<Array>(&value.data)) visit(*array);
  }
  void convert(const File& file, std::string_view key) {
    const size_t given = (file.find_uint(key) ? 1U : 0U) + (file.find_int(key) ? 1U : 0U) +
                         (file.find_float(key) ? 1U : 0U) + (file.find_bool(key) ? 1U : 0U) +
                         (file.find_string(key) ? 1U : 0U) + (file.find_int_array(key) ? 1U : 0U) +
                         (file.find_float_array(key) ? 1U : 0U) + (file.find_bool_array(key) ? 1U : 0U) +
                         (file.find_string_array(key) ? 1U : 0U);
    if (given > 2) in_range_ = false;  // at most both integer kinds
  }

  std::span<const std::byte> bytes_;
  bool in_range_ = true;
  uint64_t sum_ = 0;
};

// A writer with everything that the file holds.
inline Writer copy_of(const File& file) {
  Writer writer;
  for (const auto& [key, value] : file.metadata()) writer.add_value(key, value);
  for (const Tensor& tensor : file.tensors())
    writer.add_tensor(tensor.name, tensor.type, tensor.shape, tensor.data);
  return writer;
}

}  // namespace oxbow::gguf::testing
