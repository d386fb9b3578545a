#pragma once
// Writer of GGUF v3 files.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "gguf/file.h"
#include "gguf/tensor_type.h"

namespace oxbow::gguf {

// Collects metadata and tensors, then writes one file (temporary name, sync, rename) or returns its bytes.
// Adding a name twice, or data whose size does not fit the shape, is an error at write time that names it.
class Writer {
 public:
  void add_uint32(std::string_view key, uint32_t value);
  void add_int32(std::string_view key, int32_t value);
  void add_uint64(std::string_view key, uint64_t value);
  void add_float32(std::string_view key, float value);
  void add_bool(std::string_view key, bool value);
  void add_string(std::string_view key, std::string_view value);
  void add_array(std::string_view key, std::span<const int32_t> values);
  void add_array(std::string_view key, std::span<const uint32_t> values);
  void add_array(std::string_view key, std::span<const float> values);
  void add_bool_array(std::string_view key, const std::vector<bool>& values);
  void add_array(std::string_view key, std::span<const std::string> values);
  void add_array(std::string_view key, std::span<const std::string_view> values);
  // A value read from another file, unchanged.
  void add_value(std::string_view key, const Value& value);
  // Replaces the value of a key that was added before, or adds it.
  void set_string(std::string_view key, std::string_view value);

  // data is copied.
  void add_tensor(std::string_view name, TensorType type, std::span<const uint64_t> shape,
                  std::span<const std::byte> data);

  // Power of two, at least 8; written as general.alignment when it is not the default of 32.
  void set_alignment(uint32_t alignment) { alignment_ = alignment; }

  Result<std::vector<std::byte>> bytes() const;
  Status write(const std::string& path) const;

 private:
  struct Entry {
    std::string key;
    std::vector<std::byte> value;  // type number and body
  };
  struct TensorEntry {
    std::string name;
    TensorType type;
    std::vector<uint64_t> shape;
    std::vector<std::byte> data;
  };

  Entry& entry(std::string_view key);
  Result<uint32_t> effective_alignment() const;
  // Everything before the data section, padded.
  Result<std::vector<std::byte>> header(uint32_t alignment) const;
  // Checks, then hands out the file piece by piece.
  Status emit(const std::function<Status(std::span<const std::byte>)>& sink) const;

  std::vector<Entry> entries_;
  std::vector<TensorEntry> tensors_;
  uint32_t alignment_ = 32;
};

}  // namespace oxbow::gguf
