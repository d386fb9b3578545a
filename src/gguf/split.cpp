// Models of several files: NAME-00001-of-0000N.gguf with the keys split.no (from 0), split.count,
// split.tensors.count.

#include <utility>

#include "gguf/limits.h"
#include "gguf/parser.h"

namespace oxbow::gguf {
namespace {

constexpr uint64_t kMaxParts = 99999;  // five digits

std::string part_suffix(uint64_t number, uint64_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", number + 1, count);
}

// "model" for part `number` of "model-00002-of-00003.gguf"; an error when the name is not that of this part.
Result<std::string> stem(const std::string& path, uint64_t number, uint64_t count) {
  const std::string suffix = part_suffix(number, count);
  if (path.ends_with(suffix)) return path.substr(0, path.size() - suffix.size());
  return fail(
      ErrorKind::kInvalidInput,
      "{}: its keys say that it is part {} of {} of a split model, so its name must end in {} for the other "
      "parts to be found",
      path, number + 1, count, suffix);
}

Status check_part(const File& part, uint64_t number, uint64_t count) {
  OXBOW_ASSIGN(const auto part_number, part.find_uint("split.no"));
  OXBOW_ASSIGN(const auto part_count, part.find_uint("split.count"));
  if (part_number == number && part_count == count) return {};
  const auto shown = [](const std::optional<uint64_t>& value) {
    return value ? std::to_string(*value) : "absent";
  };
  return fail(ErrorKind::kInvalidInput,
              "{}: is not part {} of {}: split.no is {}, expected {}; split.count is {}, expected {}",
              part.path(), number + 1, count, shown(part_number), number, shown(part_count), count);
}

Result<File> open_all(File opened, uint64_t count) {
  OXBOW_ASSIGN(const auto number, opened.find_uint("split.no"));
  if (!number || *number >= count || count > kMaxParts) {
    return fail(ErrorKind::kInvalidInput, "{}: split.count is {}, and split.no is {}", opened.path(), count,
                number ? std::to_string(*number) : "absent");
  }
  OXBOW_ASSIGN(const std::string name, stem(opened.path(), *number, count));
  std::vector<File> parts;
  for (uint64_t i = 0; i < count; ++i) {
    if (i == *number) {
      parts.push_back(std::move(opened));
      continue;
    }
    auto part = Parser::open(name + part_suffix(i, count));
    if (!part) {
      return fail(part.error().kind, "part {} of {} of a split model cannot be opened: {}", i + 1, count,
                  part.error().message);
    }
    OXBOW_TRY(check_part(*part, i, count));
    parts.push_back(std::move(*part));
  }
  return Parser::join(std::move(parts));
}

}  // namespace

Result<File> File::open(const std::string& path) {
  OXBOW_ASSIGN(File file, Parser::open(path));
  OXBOW_ASSIGN(const auto count, file.find_uint("split.count"));
  if (!count || *count <= 1) return file;
  return open_all(std::move(file), *count);
}

Result<File> File::parse(std::span<const std::byte> bytes, std::string name) {
  OXBOW_ASSIGN(File file, Parser::parse(bytes, name));
  OXBOW_ASSIGN(const auto count, file.find_uint("split.count"));
  if (!count || *count <= 1) return file;
  return fail(ErrorKind::kInvalidInput, "{}: is one of {} parts of a split model, which only a file can be",
              name, *count);
}

Result<File> Parser::join(std::vector<File> parts) {
  OXBOW_ASSIGN(const auto expected, parts[0].find_uint("split.tensors.count"));
  uint64_t total = 0;
  for (const File& part : parts) total += part.tensors_.size();
  if (expected && *expected != total) {
    return fail(ErrorKind::kInvalidInput, "{}: split.tensors.count is {}, but the {} parts hold {} tensors",
                parts[0].path_, *expected, parts.size(), total);
  }
  if (total > kMaxTensors) {
    return fail(ErrorKind::kInvalidInput, "{}: the {} parts hold {} tensors, at most {} are allowed",
                parts[0].path_, parts.size(), total, kMaxTensors);
  }
  File whole = std::move(parts[0]);
  whole.tensor_index_.clear();  // the tensors, and with them the indexed names, move when the vector grows
  whole.tensors_.reserve(total);
  for (size_t i = 1; i < parts.size(); ++i) {
    for (Tensor& tensor : parts[i].tensors_) {
      tensor.split = static_cast<uint32_t>(i);
      whole.tensors_.push_back(std::move(tensor));
    }
    whole.mappings_.push_back(std::move(parts[i].mappings_[0]));
    whole.parts_.push_back(parts[i].parts_[0]);
  }
  OXBOW_TRY(index_tensors(whole));
  return whole;
}

}  // namespace oxbow::gguf
