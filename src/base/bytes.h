#pragma once
// Arithmetic on untrusted sizes, and little-endian loads and stores.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace oxbow {

static_assert(std::endian::native == std::endian::little,
              "Oxbow reads GGUF data in place and needs a little-endian host");

// a + b, a * b, or nothing when the result does not fit 64 bits.
inline std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}
inline std::optional<uint64_t> checked_multiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// The next multiple of alignment (a power of two) at or above value; nothing on overflow.
inline std::optional<uint64_t> checked_align_up(uint64_t value, uint64_t alignment) {
  const auto sum = checked_add(value, alignment - 1);
  if (!sum) return std::nullopt;
  return *sum & ~(alignment - 1);
}

constexpr size_t align_up(size_t value, size_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}
constexpr size_t ceil_div(size_t value, size_t divisor) {
  return (value + divisor - 1) / divisor;
}

// Unaligned load and store of a trivially copyable value.
template <typename T>
T load(const void* source) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}
template <typename T>
void store(void* destination, T value) {
  std::memcpy(destination, &value, sizeof(T));
}

}  // namespace oxbow
