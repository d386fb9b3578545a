#pragma once
// GGUF bytes put together by hand, right or wrong, without the writer under test.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/file.h"

namespace oxbow::gguf::testing {

class RawFile {
 public:
  // The fixed header: magic, version, counts.
  static RawFile with(uint64_t tensors, uint64_t metadata, uint32_t version = 3) {
    RawFile file;
    file.raw("GGUF").number(version).number(tensors).number(metadata);
    return file;
  }

  template <typename T>
  RawFile& number(T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  RawFile& raw(std::string_view text) {
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  // Length and characters.
  RawFile& text(std::string_view text) { return number<uint64_t>(text.size()).raw(text); }
  RawFile& type(ValueType type) { return number(static_cast<uint32_t>(type)); }
  RawFile& key(std::string_view key, ValueType value_type) { return text(key).type(value_type); }
  RawFile& array(std::string_view name, ValueType element_type, uint64_t count) {
    return key(name, ValueType::kArray).type(element_type).number(count);
  }
  RawFile& tensor(std::string_view name, const std::vector<uint64_t>& shape, uint32_t tensor_type,
                  uint64_t offset) {
    text(name).number(static_cast<uint32_t>(shape.size()));
    for (const uint64_t dimension : shape) number(dimension);
    return number(tensor_type).number(offset);
  }
  RawFile& zeros(size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  // Up to the data section, then that many bytes of it.
  RawFile& data(size_t count, size_t alignment = 32) {
    return zeros((alignment - bytes_.size() % alignment) % alignment).zeros(count);
  }

  size_t size() const { return bytes_.size(); }
  std::vector<std::byte>& bytes() { return bytes_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  Result<File> parse() const { return File::parse(bytes_, "raw.gguf"); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace oxbow::gguf::testing
