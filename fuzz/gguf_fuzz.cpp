// Any bytes: an error, or a file whose every value and tensor can be read and written again.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "../tests/gguf/walk.h"
#include "gguf/file.h"
#include "quant/blocks.h"

namespace {

using namespace oxbow;

void require(bool condition) {
  if (!condition) std::abort();
}

void decode_some(const gguf::Tensor& tensor) {
  const auto& info = gguf::tensor_type_info(tensor.type);
  const uint64_t blocks = std::min<uint64_t>(tensor.elements / info.block_elements, 16);
  std::vector<float> values(blocks * info.block_elements);
  quant::decode(tensor.type, tensor.data.first(blocks * info.block_bytes), values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto file = gguf::File::parse(bytes, "fuzz");
  if (!file) {
    require(!file.error().message.empty());
    return 0;
  }
  require(gguf::testing::Walker(bytes).walk(*file));
  for (const auto& tensor : file->tensors()) decode_some(tensor);

  const auto rewritten = gguf::testing::copy_of(*file).bytes();
  require(rewritten.has_value());
  const auto again = gguf::File::parse(*rewritten, "rewritten");
  require(again.has_value());
  require(again->metadata().size() == file->metadata().size());
  require(again->tensors().size() == file->tensors().size());
  require(gguf::testing::copy_of(*again).bytes() == *rewritten);
  return 0;
}
