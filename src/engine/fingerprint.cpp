#include "engine/fingerprint.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "kernels/kernels.h"
#include "kernels/panel.h"

namespace oxbow::engine {
namespace {

constexpr size_t kSampleBytes = 64 << 10;
constexpr uint64_t kSequentialEvaluator = 1;

void update(Hasher& hasher, uint64_t value) {
  hasher.update(std::as_bytes(std::span(&value, 1)));
}

// The bytes of a part before its first tensor.
std::span<const std::byte> header_of(const gguf::File& file, std::span<const std::byte> part) {
  const std::byte* end = part.data() + part.size();
  for (const gguf::Tensor& tensor : file.tensors()) {
    const std::byte* data = tensor.data.data();
    if (data >= part.data() && data < end) end = data;
  }
  return {part.data(), end};
}

void update(Hasher& hasher, const gguf::Tensor& tensor) {
  const auto data = tensor.data;
  update(hasher, data.size());
  if (data.size() <= 3 * kSampleBytes) return hasher.update(data);
  hasher.update(data.first(kSampleBytes));
  hasher.update(data.subspan(data.size() / 2, kSampleBytes));
  hasher.update(data.last(kSampleBytes));
}

}  // namespace

stores::Fingerprint make_fingerprint(const model::Model& model, const memory::KvTypes& kv) {
  Hasher hasher;
  update(hasher, kernels::kNumericsVersion);
  update(hasher, static_cast<uint64_t>(kv.key));
  update(hasher, static_cast<uint64_t>(kv.value));
  update(hasher, kernels::kKeyBlock);
  update(hasher, kernels::kActivationBlock);
  update(hasher, kSequentialEvaluator);
  update(hasher, model.weight_bytes());  // tells decoded weights from packed ones
  const gguf::File& file = model.file();
  for (const auto& part : file.parts()) hasher.update(header_of(file, part));
  for (const gguf::Tensor& tensor : file.tensors()) update(hasher, tensor);
  const Hash128 hash = hasher.digest128();
  stores::Fingerprint fingerprint;
  std::memcpy(fingerprint.data(), &hash.low, 8);
  std::memcpy(fingerprint.data() + 8, &hash.high, 8);
  return fingerprint;
}

}  // namespace oxbow::engine
