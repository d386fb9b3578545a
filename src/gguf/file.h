#pragma once
// Reader of GGUF v2 and v3 files (docs/formats/gguf.md): metadata and tensors, no meaning attached.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"
#include "gguf/tensor_type.h"

namespace oxbow::gguf {

enum class ValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

std::string_view value_type_name(ValueType type);

// An array of one element type. Numbers stay where they are in the file (unaligned); strings are views into
// it.
struct Array {
  ValueType element_type;
  size_t count = 0;
  std::span<const std::byte> numbers;     // count * element size bytes, for numbers and bools
  std::vector<std::string_view> strings;  // for strings
  std::vector<Array> arrays;              // for arrays of arrays
};

// Integers of every width are held as 64 bits of their own signedness, floats as double.
struct Value {
  ValueType type;
  std::variant<uint64_t, int64_t, double, bool, std::string_view, Array> data;
};

// A tensor's place. shape is in GGUF order, fastest dimension first, 1 to 4 entries, none zero.
struct Tensor {
  std::string name;
  TensorType type;
  std::vector<uint64_t> shape;
  uint64_t elements = 0;
  std::span<const std::byte> data;  // elements / block_elements * block_bytes bytes
  uint32_t split = 0;               // index of the file that holds it

  uint64_t dimension(size_t i) const { return i < shape.size() ? shape[i] : 1; }
};

// One model, of one file or of all the files of a split model. Immutable; any thread may read. Views
// (strings, tensor data) live as long as the File.
class File {
 public:
  // Maps path and checks everything in the header against the file's length. When path is one part of a split
  // model
  // ("-00001-of-0000N.gguf"), the other parts are opened too and the metadata is the first part's.
  // Errors name the file and the byte offset or the key.
  static Result<File> open(const std::string& path);

  // Parses bytes that the caller keeps alive; name stands for the path in errors.
  static Result<File> parse(std::span<const std::byte> bytes, std::string name);

  const std::string& path() const { return path_; }
  uint32_t version() const { return version_; }
  uint64_t size_bytes() const;

  // Metadata in file order.
  std::span<const std::pair<std::string, Value>> metadata() const { return metadata_; }
  const Value* find(std::string_view key) const;

  // Absent key: nothing. Present with another type or out of range: kInvalidInput naming the key and both
  // types. Any integer type is accepted for an integer, float32 and float64 for a double.
  Result<std::optional<uint64_t>> find_uint(std::string_view key) const;
  Result<std::optional<int64_t>> find_int(std::string_view key) const;
  Result<std::optional<double>> find_float(std::string_view key) const;
  Result<std::optional<bool>> find_bool(std::string_view key) const;
  Result<std::optional<std::string_view>> find_string(std::string_view key) const;
  // Arrays, converted element by element.
  Result<std::optional<std::vector<int64_t>>> find_int_array(std::string_view key) const;
  Result<std::optional<std::vector<float>>> find_float_array(std::string_view key) const;
  Result<std::optional<std::vector<bool>>> find_bool_array(std::string_view key) const;
  // The file keeps the views; null when absent.
  Result<const std::vector<std::string_view>*> find_string_array(std::string_view key) const;

  // The bytes of every part.
  std::span<const std::span<const std::byte>> parts() const { return parts_; }

  std::span<const Tensor> tensors() const { return tensors_; }
  const Tensor* find_tensor(std::string_view name) const;

  // Lets the tensor's mapped pages leave resident memory (after its data was copied elsewhere).
  void release(const Tensor& tensor) const;

 private:
  friend class Parser;
  std::string path_;
  uint32_t version_ = 0;
  std::vector<MappedFile> mappings_;
  std::vector<std::span<const std::byte>> parts_;
  std::vector<std::pair<std::string, Value>> metadata_;
  std::vector<Tensor> tensors_;
  std::unordered_map<std::string_view, size_t> metadata_index_;  // keys point into metadata_
  std::unordered_map<std::string_view, size_t> tensor_index_;    // keys point into tensors_
};

}  // namespace oxbow::gguf
