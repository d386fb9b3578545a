#include "gguf/value_reader.h"

#include <algorithm>

#include "gguf/limits.h"

namespace oxbow::gguf {
namespace {

constexpr uint64_t kStringHeaderBytes = 8;  // the length
constexpr uint64_t kArrayHeaderBytes = 12;  // element type and count

// Capacity taken before the elements are seen; more grows as they are read.
constexpr uint64_t kMaxReserved = 1 << 20;

}  // namespace

std::string_view value_type_name(ValueType type) {
  switch (type) {
    case ValueType::kUint8:
      return "uint8";
    case ValueType::kInt8:
      return "int8";
    case ValueType::kUint16:
      return "uint16";
    case ValueType::kInt16:
      return "int16";
    case ValueType::kUint32:
      return "uint32";
    case ValueType::kInt32:
      return "int32";
    case ValueType::kFloat32:
      return "float32";
    case ValueType::kBool:
      return "bool";
    case ValueType::kString:
      return "string";
    case ValueType::kArray:
      return "array";
    case ValueType::kUint64:
      return "uint64";
    case ValueType::kInt64:
      return "int64";
    case ValueType::kFloat64:
      return "float64";
  }
  return "unknown";
}

size_t value_size_bytes(ValueType type) {
  switch (type) {
    case ValueType::kUint8:
    case ValueType::kInt8:
    case ValueType::kBool:
      return 1;
    case ValueType::kUint16:
    case ValueType::kInt16:
      return 2;
    case ValueType::kUint32:
    case ValueType::kInt32:
    case ValueType::kFloat32:
      return 4;
    case ValueType::kUint64:
    case ValueType::kInt64:
    case ValueType::kFloat64:
      return 8;
    case ValueType::kString:
    case ValueType::kArray:
      return 0;
  }
  return 0;
}

std::string describe_type(const Value& value) {
  const auto* array = std::get_if<Array>(&value.data);
  if (array == nullptr) return std::string(value_type_name(value.type));
  return fmt::format("array of {}", value_type_name(array->element_type));
}

Status ValueReader::read(Value& value) {
  OXBOW_ASSIGN(value.type, read_type("value type"));
  if (value.type != ValueType::kArray) return read_scalar(value);
  return read_array(value.data.emplace<Array>(), 1);
}

Result<ValueType> ValueReader::read_type(std::string_view what) {
  OXBOW_ASSIGN(const uint32_t number, cursor_.read<uint32_t>(what));
  if (number > static_cast<uint32_t>(ValueType::kFloat64)) {
    return cursor_.invalid("the {} is {}, known are 0 to {}", what, number,
                           static_cast<uint32_t>(ValueType::kFloat64));
  }
  return static_cast<ValueType>(number);
}

template <typename Stored, typename Held>
Status ValueReader::read_number(Value& value) {
  OXBOW_ASSIGN(const Stored number, cursor_.read<Stored>("value"));
  value.data = static_cast<Held>(number);
  return {};
}

Status ValueReader::read_scalar(Value& value) {
  switch (value.type) {
    case ValueType::kUint8:
      return read_number<uint8_t, uint64_t>(value);
    case ValueType::kInt8:
      return read_number<int8_t, int64_t>(value);
    case ValueType::kUint16:
      return read_number<uint16_t, uint64_t>(value);
    case ValueType::kInt16:
      return read_number<int16_t, int64_t>(value);
    case ValueType::kUint32:
      return read_number<uint32_t, uint64_t>(value);
    case ValueType::kInt32:
      return read_number<int32_t, int64_t>(value);
    case ValueType::kUint64:
      return read_number<uint64_t, uint64_t>(value);
    case ValueType::kInt64:
      return read_number<int64_t, int64_t>(value);
    case ValueType::kFloat32:
      return read_number<float, double>(value);
    case ValueType::kFloat64:
      return read_number<double, double>(value);
    case ValueType::kBool: {
      OXBOW_ASSIGN(const uint8_t number, cursor_.read<uint8_t>("value"));
      if (number > 1) return cursor_.invalid("a bool is 0 or 1, not {}", number);
      value.data = number == 1;
      return {};
    }
    default: {
      OXBOW_ASSIGN(value.data, cursor_.read_string("string"));
      return {};
    }
  }
}

Status ValueReader::read_array(Array& array, int depth) {
  OXBOW_ASSIGN(array.element_type, read_type("element type"));
  OXBOW_ASSIGN(array.count, cursor_.read<uint64_t>("element count"));
  const size_t number_bytes = value_size_bytes(array.element_type);
  const bool strings = array.element_type == ValueType::kString;
  const uint64_t smallest = number_bytes != 0 ? number_bytes
                            : strings         ? kStringHeaderBytes
                                              : kArrayHeaderBytes;
  if (array.count > cursor_.remaining() / smallest) {
    return cursor_.invalid("an array claims {} elements of type {}, but only {} bytes follow", array.count,
                           value_type_name(array.element_type), cursor_.remaining());
  }
  if (number_bytes != 0) return read_numbers(array);
  return strings ? read_strings(array) : read_arrays(array, depth);
}

Status ValueReader::read_numbers(Array& array) {
  OXBOW_ASSIGN(array.numbers, cursor_.take(array.count * value_size_bytes(array.element_type), "array"));
  if (array.element_type != ValueType::kBool) return {};
  const auto wrong =
      std::find_if(array.numbers.begin(), array.numbers.end(), [](std::byte b) { return b > std::byte{1}; });
  if (wrong == array.numbers.end()) return {};
  return cursor_.invalid("element {} is {}, a bool is 0 or 1", wrong - array.numbers.begin(),
                         static_cast<int>(*wrong));
}

Status ValueReader::read_strings(Array& array) {
  array.strings.reserve(std::min<uint64_t>(array.count, kMaxReserved));
  for (uint64_t i = 0; i < array.count; ++i) {
    auto text = cursor_.read_string("string");
    if (!text) return cursor_.invalid("string {} of {} runs past the end of the file", i, array.count);
    array.strings.push_back(*text);
  }
  return {};
}

Status ValueReader::read_arrays(Array& array, int depth) {
  if (depth == kMaxArrayDepth) return cursor_.invalid("arrays are nested more than {} deep", kMaxArrayDepth);
  nested_arrays_ += array.count;
  if (nested_arrays_ > kMaxNestedArrays) {
    return cursor_.invalid("the file holds more than {} arrays inside of arrays", kMaxNestedArrays);
  }
  for (uint64_t i = 0; i < array.count; ++i) {
    OXBOW_TRY(read_array(array.arrays.emplace_back(), depth + 1));
  }
  return {};
}

}  // namespace oxbow::gguf
