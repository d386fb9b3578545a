#include "gguf/parser.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/bytes.h"
#include "gguf/limits.h"
#include "gguf/name.h"
#include "gguf/value_reader.h"

namespace oxbow::gguf {
namespace {

// The least bytes that a metadata pair (length, one letter, type, one byte) and a tensor (length, one letter,
// number of dimensions, one dimension, type, offset) take: an upper bound on how many a file can hold.
constexpr uint64_t kMinMetadataBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;

constexpr std::string_view kLfsPointer = "version https://git-lfs";

}  // namespace

Parser::Parser(std::span<const std::byte> bytes, const std::string& name)
    : bytes_(bytes), cursor_(bytes, name) {
  file_.path_ = name;
  file_.parts_.push_back(bytes);
}

Result<File> Parser::parse(std::span<const std::byte> bytes, const std::string& name) {
  Parser parser(bytes, name);
  OXBOW_ASSIGN(const Header header, parser.read_header());
  OXBOW_TRY(parser.read_metadata(header.metadata_count));
  OXBOW_TRY(parser.read_tensors(header.tensor_count));
  OXBOW_TRY(parser.place_tensors());
  OXBOW_TRY(index_tensors(parser.file_));
  return std::move(parser.file_);
}

Result<File> Parser::open(const std::string& path) {
  OXBOW_ASSIGN(MappedFile mapping, MappedFile::open(path));
  OXBOW_ASSIGN(File file, parse(mapping.bytes(), path));
  file.mappings_.push_back(std::move(mapping));
  return file;
}

Status Parser::check_magic() {
  OXBOW_ASSIGN(const auto magic, cursor_.take(4, "magic number"));
  if (load<uint32_t>(magic.data()) == kMagic) return {};
  if (bytes_.size() >= kLfsPointer.size() &&
      std::memcmp(bytes_.data(), kLfsPointer.data(), kLfsPointer.size()) == 0) {
    return cursor_.invalid("this is a Git LFS pointer, not the model itself");
  }
  return cursor_.invalid("not a GGUF file: it starts with {}",
                         quoted({reinterpret_cast<const char*>(magic.data()), magic.size()}));
}

Status Parser::check_version(uint32_t version) const {
  if (version >= kOldestVersion && version <= kNewestVersion) return {};
  if (version == 1) {
    return cursor_.refuse(ErrorKind::kUnsupported,
                          "GGUF version 1 is not supported, convert the model to version 3");
  }
  const uint32_t swapped = __builtin_bswap32(version);
  if (swapped >= 1 && swapped <= 0xffff) {
    return cursor_.refuse(
        ErrorKind::kUnsupported,
        "the file is big-endian (version {} with its bytes swapped), only little-endian is supported",
        swapped);
  }
  return cursor_.refuse(ErrorKind::kUnsupported, "GGUF version {} is not supported, versions {} and {} are",
                        version, kOldestVersion, kNewestVersion);
}

Result<Parser::Header> Parser::read_header() {
  cursor_.set_subject("header");
  OXBOW_TRY(check_magic());
  OXBOW_ASSIGN(file_.version_, cursor_.read<uint32_t>("version"));
  OXBOW_TRY(check_version(file_.version_));
  Header header{};
  OXBOW_ASSIGN(header.tensor_count, cursor_.read<uint64_t>("tensor count"));
  OXBOW_ASSIGN(header.metadata_count, cursor_.read<uint64_t>("metadata count"));
  if (header.metadata_count > std::min(kMaxMetadata, cursor_.remaining() / kMinMetadataBytes)) {
    return cursor_.invalid("the metadata count is {}, but {} bytes follow and at most {} pairs are allowed",
                           header.metadata_count, cursor_.remaining(), kMaxMetadata);
  }
  if (header.tensor_count > std::min(kMaxTensors, cursor_.remaining() / kMinTensorBytes)) {
    return cursor_.invalid("the tensor count is {}, but {} bytes follow and at most {} tensors are allowed",
                           header.tensor_count, cursor_.remaining(), kMaxTensors);
  }
  return header;
}

Status Parser::read_metadata(uint64_t count) {
  ValueReader values(cursor_);
  // The index holds views of the keys: the vector must not grow past its capacity from here on.
  file_.metadata_.reserve(count);
  file_.metadata_index_.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    cursor_.set_subject(fmt::format("metadata pair {}", i));
    OXBOW_ASSIGN(const std::string_view key, cursor_.read_string("key"));
    if (const auto problem = name_problem(key); !problem.empty()) {
      return cursor_.invalid("the key {} {}", quoted(key), problem);
    }
    cursor_.set_subject(fmt::format("metadata key {}", quoted(key)));
    auto& stored = file_.metadata_.emplace_back();
    stored.first = key;
    OXBOW_TRY(values.read(stored.second));
    if (!file_.metadata_index_.try_emplace(stored.first, i).second)
      return cursor_.invalid("the key occurs twice");
  }
  return {};
}

Status Parser::read_tensors(uint64_t count) {
  file_.tensors_.reserve(count);
  extents_.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    cursor_.set_subject(fmt::format("tensor {}", i));
    Tensor tensor{};
    OXBOW_ASSIGN(const Extent extent, read_tensor(tensor));
    file_.tensors_.push_back(std::move(tensor));
    extents_.push_back(extent);
  }
  return {};
}

Result<Parser::Extent> Parser::read_tensor(Tensor& tensor) {
  OXBOW_ASSIGN(const std::string_view name, cursor_.read_string("name"));
  if (const auto problem = name_problem(name); !problem.empty()) {
    return cursor_.invalid("the name {} {}", quoted(name), problem);
  }
  cursor_.set_subject(fmt::format("tensor {}", quoted(name)));
  tensor.name = name;
  OXBOW_TRY(read_shape(tensor));
  OXBOW_TRY(read_type(tensor));
  const TensorTypeInfo& type = tensor_type_info(tensor.type);
  if (tensor.shape[0] % type.block_elements != 0) {
    return cursor_.invalid("its rows of {} values are no whole number of {} blocks of {}", tensor.shape[0],
                           type.name, type.block_elements);
  }
  const auto size_bytes = tensor_bytes(tensor.type, tensor.elements);
  if (!size_bytes) return cursor_.invalid("its size does not fit 64 bits");
  OXBOW_ASSIGN(const uint64_t offset, cursor_.read<uint64_t>("offset"));
  return Extent{offset, *size_bytes};
}

Status Parser::read_shape(Tensor& tensor) {
  OXBOW_ASSIGN(const uint32_t dimensions, cursor_.read<uint32_t>("number of dimensions"));
  if (dimensions < 1 || dimensions > kMaxDimensions) {
    return cursor_.invalid("it has {} dimensions, 1 to {} are allowed", dimensions, kMaxDimensions);
  }
  tensor.shape.resize(dimensions);
  tensor.elements = 1;
  for (uint64_t& dimension : tensor.shape) {
    OXBOW_ASSIGN(dimension, cursor_.read<uint64_t>("dimension"));
    if (dimension == 0) return cursor_.invalid("a dimension is zero");
    const auto product = checked_multiply(tensor.elements, dimension);
    if (!product) return cursor_.invalid("the product of its dimensions does not fit 64 bits");
    tensor.elements = *product;
  }
  return {};
}

Status Parser::read_type(Tensor& tensor) {
  OXBOW_ASSIGN(const uint32_t number, cursor_.read<uint32_t>("type"));
  if (const TensorTypeInfo* type = find_tensor_type(number); type != nullptr) {
    tensor.type = type->type;
    return {};
  }
  const std::string_view name = undecoded_type_name(number);
  if (name.empty()) return cursor_.refuse(ErrorKind::kUnsupported, "its type {} is unknown", number);
  return cursor_.refuse(ErrorKind::kUnsupported, "its type {} ({}) is not supported", number, name);
}

Result<uint64_t> Parser::alignment() const {
  const Value* value = file_.find("general.alignment");
  if (value == nullptr) return kDefaultAlignment;
  if (value->type != ValueType::kUint32) {
    return fail(ErrorKind::kInvalidInput,
                "{}: metadata key \"general.alignment\" is of type {}, expected uint32", file_.path_,
                describe_type(*value));
  }
  const uint64_t alignment = std::get<uint64_t>(value->data);
  if (alignment < kMinAlignment || alignment > kMaxAlignment || (alignment & (alignment - 1)) != 0) {
    return fail(ErrorKind::kInvalidInput,
                "{}: metadata key \"general.alignment\" is {}, expected a power of two from {} to {}",
                file_.path_, alignment, kMinAlignment, kMaxAlignment);
  }
  return alignment;
}

Status Parser::place_tensors() {
  OXBOW_ASSIGN(const uint64_t alignment, this->alignment());
  const auto data_start = checked_align_up(cursor_.offset(), alignment);
  for (size_t i = 0; i < extents_.size(); ++i) {
    const Extent& extent = extents_[i];
    Tensor& tensor = file_.tensors_[i];
    if (extent.offset % alignment != 0) {
      return fail(ErrorKind::kInvalidInput, "{}: tensor {}: its offset {} is no multiple of the alignment {}",
                  file_.path_, quoted(tensor.name), extent.offset, alignment);
    }
    const auto begin = checked_add(*data_start, extent.offset);
    const auto end = begin ? checked_add(*begin, extent.size_bytes) : begin;
    if (!end || *end > bytes_.size()) {
      return fail(ErrorKind::kInvalidInput,
                  "{}: tensor {}: its {} bytes at offset {} of the data section (from byte {} on) run past "
                  "the end of "
                  "the file, which has {} bytes: it is cut off or damaged",
                  file_.path_, quoted(tensor.name), extent.size_bytes, extent.offset, *data_start,
                  bytes_.size());
    }
    tensor.data = bytes_.subspan(*begin, extent.size_bytes);
  }
  return check_overlap();
}

Status Parser::check_overlap() const {
  std::vector<size_t> order(extents_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return extents_[a].offset < extents_[b].offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const Extent& before = extents_[order[i - 1]];
    if (before.offset + before.size_bytes <= extents_[order[i]].offset) continue;
    return fail(ErrorKind::kInvalidInput,
                "{}: the data of tensors {} and {} overlap at offset {} of the data section", file_.path_,
                quoted(file_.tensors_[order[i - 1]].name), quoted(file_.tensors_[order[i]].name),
                extents_[order[i]].offset);
  }
  return {};
}

Status Parser::index_tensors(File& file) {
  file.tensor_index_.reserve(file.tensors_.size());
  for (size_t i = 0; i < file.tensors_.size(); ++i) {
    const Tensor& tensor = file.tensors_[i];
    if (!file.tensor_index_.try_emplace(tensor.name, i).second) {
      return fail(ErrorKind::kInvalidInput, "{}: the tensor name {} occurs twice", file.path_,
                  quoted(tensor.name));
    }
  }
  return {};
}

}  // namespace oxbow::gguf
