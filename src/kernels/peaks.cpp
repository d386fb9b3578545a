#include "kernels/peaks.h"

#include <atomic>

#include "kernels/isa/peaks.h"
#include "kernels/kernels.h"

namespace oxbow::kernels {
namespace {

// What nobody needs goes here, so that it is computed.
std::atomic<int32_t> sink{0};

}  // namespace

uint64_t run_dot_products(size_t steps) {
  int32_t out[16] = {};
  uint64_t operations = 0;
  [[maybe_unused]] const std::string_view name = kernels().name;
#if defined(OXBOW_HAS_AVX512)
  if (name == "avx512") operations = avx512::dot_products(steps, out);
#endif
#if defined(OXBOW_HAS_AVX2)
  if (name == "avx2") operations = avx2::dot_products(steps, out);
#endif
  if (operations == 0) operations = portable::dot_products(steps, out);
  sink.store(out[0], std::memory_order_relaxed);
  return operations;
}

uint64_t read_all(std::span<const std::byte> data) {
  [[maybe_unused]] const std::string_view name = kernels().name;
#if defined(OXBOW_HAS_AVX512)
  if (name == "avx512") return avx512::read_bytes(data.data(), data.size());
#endif
#if defined(OXBOW_HAS_AVX2)
  if (name == "avx2") return avx2::read_bytes(data.data(), data.size());
#endif
  return portable::read_bytes(data.data(), data.size());
}

}  // namespace oxbow::kernels
