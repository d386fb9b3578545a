#pragma once
// Running a kernel on every table: guarded unaligned rows, the same bits everywhere, distance to a double
// reference.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "kernels/kernels.h"

namespace oxbow::kernels {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Lengths around the vector width and around the unrolled loops.
inline constexpr size_t kOddSizes[] = {0,  1,  2,  7,  8,  9,  15,  16,  17,  31,  32,  33,
                                       47, 48, 49, 63, 64, 65, 127, 128, 129, 200, 256, 1000};

// n elements that start off any vector boundary, with canaries on both sides.
template <class T>
class Guarded {
 public:
  explicit Guarded(size_t n, size_t skew = 1)
      : size_(n), begin_(kMargin + skew), cells_(n + 2 * kMargin + skew, canary()) {}
  explicit Guarded(std::span<const T> values, size_t skew = 1) : Guarded(values.size(), skew) {
    std::copy(values.begin(), values.end(), data());
  }
  ~Guarded() {
    for (size_t i = 0; i < cells_.size(); ++i) {
      if (i >= begin_ && i < begin_ + size_) continue;
      if (std::memcmp(&cells_[i], &kCanaryBytes, sizeof(T)) != 0) {
        ADD_FAILURE() << "element " << static_cast<ptrdiff_t>(i - begin_) << " outside of [0, " << size_
                      << ") changed";
        return;
      }
    }
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  T* data() { return cells_.data() + begin_; }
  T& operator[](size_t i) { return data()[i]; }
  std::vector<T> values() const { return {cells_.begin() + begin_, cells_.begin() + begin_ + size_}; }

 private:
  static constexpr size_t kMargin = 32;
  static constexpr uint64_t kCanaryBytes = 0x5ca1ab1e7e57ed01U;
  static T canary() {
    T value;
    std::memcpy(&value, &kCanaryBytes, sizeof(T));
    return value;
  }
  size_t size_;
  size_t begin_;
  std::vector<T> cells_;
};

inline std::vector<float> random_floats(size_t n, uint32_t seed, float low = -2.0f, float high = 2.0f) {
  std::mt19937 random(seed);
  std::vector<float> values(n);
  for (float& v : values) v = low + (high - low) * static_cast<float>(random() >> 8) * 0x1p-24f;
  return values;
}

// Every float pattern may occur: subnormals, infinities, NaN.
inline std::vector<float> wild_floats(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(n);
  for (float& v : values) v = std::bit_cast<float>(static_cast<uint32_t>(random()));
  return values;
}

inline bool same_bits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

inline ::testing::AssertionResult same_bits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size())
    return ::testing::AssertionFailure() << "sizes " << a.size() << " and " << b.size();
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same_bits(a[i], b[i])) {
      return ::testing::AssertionFailure()
             << "element " << i << ": " << std::hexfloat << a[i] << " and " << b[i];
    }
  }
  return ::testing::AssertionSuccess();
}

// Runs on every table, expects the same bits from all and returns them.
template <class Run>
std::vector<float> run_everywhere(Run run) {
  std::vector<float> first;
  for (const KernelTable* table : available_kernels()) {
    std::vector<float> result = run(*table);
    if (table == available_kernels().front()) {
      first = std::move(result);
    } else {
      EXPECT_TRUE(same_bits(first, result))
          << table->name << " differs from " << available_kernels().front()->name;
    }
  }
  return first;
}

// Distance in units of the last place of the float nearest to `expected`.
inline double ulps(float actual, double expected) {
  const float rounded = static_cast<float>(expected);
  if (std::isnan(expected)) return std::isnan(actual) ? 0 : 1e30;
  if (std::isinf(rounded)) return actual == rounded ? 0 : 1e30;
  const float magnitude = std::max(std::fabs(rounded), std::numeric_limits<float>::min());
  const double unit = static_cast<double>(std::nextafterf(magnitude, kInf)) - static_cast<double>(magnitude);
  return std::fabs(static_cast<double>(actual) - expected) / unit;
}

inline double silu_reference(double x) {
  return x / (1.0 + std::exp(-x));
}

}  // namespace oxbow::kernels
