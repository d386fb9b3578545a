#include "gguf/file.h"

#include <utility>

#include "base/bytes.h"
#include "gguf/name.h"
#include "gguf/value_reader.h"

namespace oxbow::gguf {
namespace {

tl::unexpected<Error> wrong_type(const File& file, std::string_view key, std::string_view expected,
                                 const Value& value) {
  return fail(ErrorKind::kInvalidInput, "{}: metadata key {} is of type {}, expected {}", file.path(),
              quoted(key), describe_type(value), expected);
}

template <typename T>
tl::unexpected<Error> out_of_range(const File& file, std::string_view key, T value) {
  return fail(ErrorKind::kInvalidInput, "{}: metadata key {} is {}, which is out of range", file.path(),
              quoted(key), value);
}

// A value that is held as T.
template <typename T>
Result<std::optional<T>> find_held(const File& file, std::string_view key, std::string_view expected) {
  const Value* value = file.find(key);
  if (value == nullptr) return std::optional<T>();
  if (const T* held = std::get_if<T>(&value->data)) return std::optional<T>(*held);
  return wrong_type(file, key, expected, *value);
}

// Any integer type, when the number fits Wanted.
template <typename Wanted, typename Other>
Result<std::optional<Wanted>> find_integer(const File& file, std::string_view key) {
  const Value* value = file.find(key);
  if (value == nullptr) return std::optional<Wanted>();
  if (const Wanted* same = std::get_if<Wanted>(&value->data)) return std::optional<Wanted>(*same);
  const Other* other = std::get_if<Other>(&value->data);
  if (other == nullptr) return wrong_type(file, key, "an integer", *value);
  if (!std::in_range<Wanted>(*other)) return out_of_range(file, key, *other);
  return std::optional<Wanted>(static_cast<Wanted>(*other));
}

// The array under key, or null; elements are checked by the caller.
Result<const Array*> find_array(const File& file, std::string_view key, std::string_view expected) {
  const Value* value = file.find(key);
  if (value == nullptr) return nullptr;
  const Array* array = std::get_if<Array>(&value->data);
  if (array == nullptr) return wrong_type(file, key, expected, *value);
  return array;
}

template <typename Stored, typename Wanted>
std::vector<Wanted> convert(const Array& array) {
  std::vector<Wanted> values(array.count);
  for (size_t i = 0; i < array.count; ++i) {
    values[i] = static_cast<Wanted>(load<Stored>(array.numbers.data() + i * sizeof(Stored)));
  }
  return values;
}

}  // namespace

uint64_t File::size_bytes() const {
  uint64_t total = 0;
  for (const auto& part : parts_) total += part.size();
  return total;
}

const Value* File::find(std::string_view key) const {
  const auto found = metadata_index_.find(key);
  return found == metadata_index_.end() ? nullptr : &metadata_[found->second].second;
}

Result<std::optional<uint64_t>> File::find_uint(std::string_view key) const {
  return find_integer<uint64_t, int64_t>(*this, key);
}

Result<std::optional<int64_t>> File::find_int(std::string_view key) const {
  return find_integer<int64_t, uint64_t>(*this, key);
}

Result<std::optional<double>> File::find_float(std::string_view key) const {
  return find_held<double>(*this, key, "a float");
}

Result<std::optional<bool>> File::find_bool(std::string_view key) const {
  return find_held<bool>(*this, key, "a bool");
}

Result<std::optional<std::string_view>> File::find_string(std::string_view key) const {
  return find_held<std::string_view>(*this, key, "a string");
}

Result<std::optional<std::vector<int64_t>>> File::find_int_array(std::string_view key) const {
  using Found = std::optional<std::vector<int64_t>>;
  OXBOW_ASSIGN(const Array* array, find_array(*this, key, "an array of integers"));
  if (array == nullptr) return Found();
  switch (array->element_type) {
    case ValueType::kUint8:
      return Found(convert<uint8_t, int64_t>(*array));
    case ValueType::kInt8:
      return Found(convert<int8_t, int64_t>(*array));
    case ValueType::kUint16:
      return Found(convert<uint16_t, int64_t>(*array));
    case ValueType::kInt16:
      return Found(convert<int16_t, int64_t>(*array));
    case ValueType::kUint32:
      return Found(convert<uint32_t, int64_t>(*array));
    case ValueType::kInt32:
      return Found(convert<int32_t, int64_t>(*array));
    case ValueType::kInt64:
      return Found(convert<int64_t, int64_t>(*array));
    case ValueType::kUint64: {
      auto values = convert<uint64_t, int64_t>(*array);
      for (const int64_t value : values) {
        if (value < 0) return out_of_range(*this, key, static_cast<uint64_t>(value));
      }
      return Found(std::move(values));
    }
    default:
      return wrong_type(*this, key, "an array of integers", *find(key));
  }
}

Result<std::optional<std::vector<float>>> File::find_float_array(std::string_view key) const {
  using Found = std::optional<std::vector<float>>;
  OXBOW_ASSIGN(const Array* array, find_array(*this, key, "an array of floats"));
  if (array == nullptr) return Found();
  switch (array->element_type) {
    case ValueType::kFloat32:
      return Found(convert<float, float>(*array));
    case ValueType::kFloat64:
      return Found(convert<double, float>(*array));
    default:
      return wrong_type(*this, key, "an array of floats", *find(key));
  }
}

Result<std::optional<std::vector<bool>>> File::find_bool_array(std::string_view key) const {
  OXBOW_ASSIGN(const Array* array, find_array(*this, key, "an array of bools"));
  if (array == nullptr) return std::optional<std::vector<bool>>();
  if (array->element_type != ValueType::kBool) return wrong_type(*this, key, "an array of bools", *find(key));
  std::vector<bool> values(array->count);
  for (size_t i = 0; i < array->count; ++i) values[i] = array->numbers[i] != std::byte{0};
  return std::optional(std::move(values));
}

Result<const std::vector<std::string_view>*> File::find_string_array(std::string_view key) const {
  OXBOW_ASSIGN(const Array* array, find_array(*this, key, "an array of strings"));
  if (array == nullptr) return nullptr;
  if (array->element_type != ValueType::kString)
    return wrong_type(*this, key, "an array of strings", *find(key));
  return &array->strings;
}

const Tensor* File::find_tensor(std::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

void File::release(const Tensor& tensor) const {
  if (tensor.split >= mappings_.size()) return;  // parsed from the caller's bytes
  const MappedFile& mapping = mappings_[tensor.split];
  mapping.release(static_cast<size_t>(tensor.data.data() - mapping.bytes().data()), tensor.data.size());
}

}  // namespace oxbow::gguf
