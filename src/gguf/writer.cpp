#include "gguf/writer.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/atomic_file.h"
#include "base/bytes.h"
#include "base/check.h"
#include "gguf/limits.h"
#include "gguf/name.h"
#include "gguf/value_reader.h"

namespace oxbow::gguf {
namespace {

using Bytes = std::vector<std::byte>;

void append(Bytes& out, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const size_t old_size = out.size();
  out.resize(old_size + bytes.size());
  std::memcpy(out.data() + old_size, bytes.data(), bytes.size());
}

template <typename T>
void append_number(Bytes& out, T value) {
  append(out, std::as_bytes(std::span(&value, 1)));
}

void append_type(Bytes& out, ValueType type) {
  append_number(out, static_cast<uint32_t>(type));
}

void append_string(Bytes& out, std::string_view text) {
  append_number<uint64_t>(out, text.size());
  append(out, std::as_bytes(std::span(text)));
}

// Type number and body of a value that is one number.
template <typename T>
Bytes scalar(ValueType type, T value) {
  Bytes out;
  append_type(out, type);
  append_number(out, value);
  return out;
}

Bytes array_header(ValueType element_type, uint64_t count) {
  Bytes out;
  append_type(out, ValueType::kArray);
  append_type(out, element_type);
  append_number(out, count);
  return out;
}

template <typename T>
Bytes number_array(ValueType element_type, std::span<const T> values) {
  Bytes out = array_header(element_type, values.size());
  append(out, std::as_bytes(values));
  return out;
}

template <typename Text>
Bytes string_array(std::span<const Text> values) {
  Bytes out = array_header(ValueType::kString, values.size());
  for (const auto& text : values) append_string(out, text);
  return out;
}

// Element type, count and elements.
void append_array(Bytes& out, const Array& array) {
  append_type(out, array.element_type);
  append_number<uint64_t>(out, array.count);
  if (array.element_type == ValueType::kString) {
    OXBOW_CHECK(array.strings.size() == array.count);
    for (const auto& text : array.strings) append_string(out, text);
  } else if (array.element_type == ValueType::kArray) {
    OXBOW_CHECK(array.arrays.size() == array.count);
    for (const auto& inner : array.arrays) append_array(out, inner);
  } else {
    OXBOW_CHECK(array.numbers.size() == array.count * value_size_bytes(array.element_type));
    append(out, array.numbers);
  }
}

template <typename T>
const T& held(const Value& value) {
  const T* data = std::get_if<T>(&value.data);
  OXBOW_CHECK(data != nullptr);
  return *data;
}

void append_body(Bytes& out, const Value& value) {
  switch (value.type) {
    case ValueType::kUint8:
      return append_number(out, static_cast<uint8_t>(held<uint64_t>(value)));
    case ValueType::kInt8:
      return append_number(out, static_cast<int8_t>(held<int64_t>(value)));
    case ValueType::kUint16:
      return append_number(out, static_cast<uint16_t>(held<uint64_t>(value)));
    case ValueType::kInt16:
      return append_number(out, static_cast<int16_t>(held<int64_t>(value)));
    case ValueType::kUint32:
      return append_number(out, static_cast<uint32_t>(held<uint64_t>(value)));
    case ValueType::kInt32:
      return append_number(out, static_cast<int32_t>(held<int64_t>(value)));
    case ValueType::kUint64:
      return append_number(out, held<uint64_t>(value));
    case ValueType::kInt64:
      return append_number(out, held<int64_t>(value));
    case ValueType::kFloat32:
      return append_number(out, static_cast<float>(held<double>(value)));
    case ValueType::kFloat64:
      return append_number(out, held<double>(value));
    case ValueType::kBool:
      return append_number(out, static_cast<uint8_t>(held<bool>(value)));
    case ValueType::kString:
      return append_string(out, held<std::string_view>(value));
    case ValueType::kArray:
      return append_array(out, held<Array>(value));
  }
}

Status check_name(std::string_view kind, std::string_view name, std::unordered_set<std::string_view>& seen) {
  if (const auto problem = name_problem(name); !problem.empty()) {
    return fail(ErrorKind::kInvalidInput, "the {} {} {}", kind, quoted(name), problem);
  }
  if (!seen.insert(name).second)
    return fail(ErrorKind::kInvalidInput, "the {} {} was added twice", kind, quoted(name));
  return {};
}

// Nothing when the shape is fine and takes size_bytes.
std::string shape_problem(TensorType type, std::span<const uint64_t> shape, size_t size_bytes) {
  const TensorTypeInfo& info = tensor_type_info(type);
  if (shape.empty() || shape.size() > kMaxDimensions) {
    return fmt::format("has {} dimensions, 1 to {} are allowed", shape.size(), kMaxDimensions);
  }
  std::optional<uint64_t> elements = 1;
  for (const uint64_t dimension : shape) {
    if (dimension == 0) return "has a dimension of zero";
    if (elements) elements = checked_multiply(*elements, dimension);
  }
  if (shape[0] % info.block_elements != 0) {
    return fmt::format("has rows of {} values, no whole number of {} blocks", shape[0], info.name);
  }
  const auto expected = elements ? tensor_bytes(type, *elements) : elements;
  if (!expected) return "has a size that does not fit 64 bits";
  if (*expected != size_bytes) return fmt::format("takes {} bytes, but {} were given", *expected, size_bytes);
  return {};
}

}  // namespace

Writer::Entry& Writer::entry(std::string_view key) {
  return entries_.emplace_back(Entry{std::string(key), {}});
}

void Writer::add_uint32(std::string_view key, uint32_t value) {
  entry(key).value = scalar(ValueType::kUint32, value);
}

void Writer::add_int32(std::string_view key, int32_t value) {
  entry(key).value = scalar(ValueType::kInt32, value);
}

void Writer::add_uint64(std::string_view key, uint64_t value) {
  entry(key).value = scalar(ValueType::kUint64, value);
}

void Writer::add_float32(std::string_view key, float value) {
  entry(key).value = scalar(ValueType::kFloat32, value);
}

void Writer::add_bool(std::string_view key, bool value) {
  entry(key).value = scalar(ValueType::kBool, static_cast<uint8_t>(value));
}

void Writer::add_string(std::string_view key, std::string_view value) {
  add_value(key, Value{ValueType::kString, value});
}

void Writer::add_array(std::string_view key, std::span<const int32_t> values) {
  entry(key).value = number_array(ValueType::kInt32, values);
}

void Writer::add_array(std::string_view key, std::span<const uint32_t> values) {
  entry(key).value = number_array(ValueType::kUint32, values);
}

void Writer::add_array(std::string_view key, std::span<const float> values) {
  entry(key).value = number_array(ValueType::kFloat32, values);
}

void Writer::add_bool_array(std::string_view key, const std::vector<bool>& values) {
  Bytes bytes = array_header(ValueType::kBool, values.size());
  for (const bool value : values) bytes.push_back(static_cast<std::byte>(value));
  entry(key).value = std::move(bytes);
}

void Writer::add_array(std::string_view key, std::span<const std::string> values) {
  entry(key).value = string_array(values);
}

void Writer::add_array(std::string_view key, std::span<const std::string_view> values) {
  entry(key).value = string_array(values);
}

void Writer::add_value(std::string_view key, const Value& value) {
  Bytes bytes;
  append_type(bytes, value.type);
  append_body(bytes, value);
  entry(key).value = std::move(bytes);
}

void Writer::set_string(std::string_view key, std::string_view value) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& old) { return old.key == key; });
  if (found == entries_.end()) return add_string(key, value);
  found->value.clear();
  append_type(found->value, ValueType::kString);
  append_string(found->value, value);
}

void Writer::add_tensor(std::string_view name, TensorType type, std::span<const uint64_t> shape,
                        std::span<const std::byte> data) {
  tensors_.push_back({std::string(name), type, {shape.begin(), shape.end()}, {data.begin(), data.end()}});
}

Result<uint32_t> Writer::effective_alignment() const {
  uint32_t alignment = alignment_;
  for (const Entry& entry : entries_) {
    if (entry.key != "general.alignment") continue;
    if (entry.value.size() != 8 ||
        load<uint32_t>(entry.value.data()) != static_cast<uint32_t>(ValueType::kUint32)) {
      return fail(ErrorKind::kInvalidInput, "general.alignment must be a uint32");
    }
    alignment = load<uint32_t>(entry.value.data() + 4);
    if (alignment_ != kDefaultAlignment && alignment_ != alignment) {
      return fail(ErrorKind::kInvalidInput, "general.alignment was added as {}, but set to {}", alignment,
                  alignment_);
    }
  }
  if (alignment < kMinAlignment || alignment > kMaxAlignment || (alignment & (alignment - 1)) != 0) {
    return fail(ErrorKind::kInvalidInput, "the alignment is {}, expected a power of two from {} to {}",
                alignment, kMinAlignment, kMaxAlignment);
  }
  return alignment;
}

Result<std::vector<std::byte>> Writer::header(uint32_t alignment) const {
  std::unordered_set<std::string_view> keys;
  for (const Entry& entry : entries_) OXBOW_TRY(check_name("metadata key", entry.key, keys));
  const bool states_alignment = alignment != kDefaultAlignment && !keys.contains("general.alignment");
  Bytes out;
  append_number(out, kMagic);
  append_number(out, kNewestVersion);
  append_number<uint64_t>(out, tensors_.size());
  append_number<uint64_t>(out, entries_.size() + (states_alignment ? 1 : 0));
  for (const Entry& entry : entries_) {
    append_string(out, entry.key);
    append(out, entry.value);
  }
  if (states_alignment) {
    append_string(out, "general.alignment");
    append(out, scalar(ValueType::kUint32, alignment));
  }
  std::unordered_set<std::string_view> names;
  uint64_t offset = 0;
  for (const TensorEntry& tensor : tensors_) {
    OXBOW_TRY(check_name("tensor name", tensor.name, names));
    if (const auto problem = shape_problem(tensor.type, tensor.shape, tensor.data.size()); !problem.empty()) {
      return fail(ErrorKind::kInvalidInput, "tensor {} {}", quoted(tensor.name), problem);
    }
    append_string(out, tensor.name);
    append_number(out, static_cast<uint32_t>(tensor.shape.size()));
    append(out, std::as_bytes(std::span(tensor.shape)));
    append_number(out, static_cast<uint32_t>(tensor.type));
    append_number(out, offset);
    offset += align_up(tensor.data.size(), alignment);
  }
  out.resize(align_up(out.size(), alignment));
  return out;
}

Status Writer::emit(const std::function<Status(std::span<const std::byte>)>& sink) const {
  if (entries_.size() >= kMaxMetadata || tensors_.size() > kMaxTensors) {
    return fail(ErrorKind::kInvalidInput, "{} metadata pairs and {} tensors are more than a file may hold",
                entries_.size(), tensors_.size());
  }
  OXBOW_ASSIGN(const uint32_t alignment, effective_alignment());
  OXBOW_ASSIGN(const Bytes head, header(alignment));
  OXBOW_TRY(sink(head));
  const Bytes zeros(alignment);
  for (const TensorEntry& tensor : tensors_) {
    OXBOW_TRY(sink(tensor.data));
    OXBOW_TRY(sink(std::span(zeros).first(align_up(tensor.data.size(), alignment) - tensor.data.size())));
  }
  return {};
}

Result<std::vector<std::byte>> Writer::bytes() const {
  Bytes out;
  OXBOW_TRY(emit([&](std::span<const std::byte> bytes) -> Status {
    append(out, bytes);
    return {};
  }));
  return out;
}

Status Writer::write(const std::string& path) const {
  OXBOW_ASSIGN(AtomicFile file, AtomicFile::create(path));
  OXBOW_TRY(emit([&](std::span<const std::byte> bytes) { return file.write(bytes); }));
  return file.commit();
}

}  // namespace oxbow::gguf
