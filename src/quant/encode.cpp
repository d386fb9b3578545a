#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/bytes.h"
#include "base/check.h"
#include "quant/blocks.h"
#include "quant/codebooks.h"
#include "quant/half.h"
#include "quant/scale_search.h"

namespace oxbow::quant {
namespace {

// Byte positions inside a block follow docs/formats/tensor-types.md. `x` holds the values of one block, all
// finite; `b` is the block. An encoder answers false when a scale does not fit binary16; a search that meets
// such a scale stops with an infinite error.

constexpr size_t kMaxGroups = 16;

bool store_half(std::byte* at, double value) {
  const uint16_t half = float_to_half(static_cast<float>(value));
  store(at, half);
  return (half & 0x7c00U) != 0x7c00U;
}

double stored_half(double value) {
  return half_to_float(float_to_half(static_cast<float>(value)));
}

// Two runs of 16 codes: low nibbles, then high nibbles.
void store_nibbles_32(const uint8_t* codes, std::byte* b) {
  for (size_t i = 0; i < 16; ++i) b[i] = static_cast<std::byte>(codes[i] | (codes[i + 16] << 4));
}

bool encode_q8_0(std::span<const float> x, std::byte* b) {
  const float d = std::fabs(largest_magnitude(x)) / 127.0f;
  const bool fits = store_half(b, d);
  // A scale that rounds to zero decodes to zeros whatever the codes, and its inverse may be infinite.
  const float inverse = load<uint16_t>(b) == 0 ? 0.0f : 1.0f / d;
  for (size_t i = 0; i < 32 && fits; ++i) store(b + 2 + i, static_cast<int8_t>(std::round(x[i] * inverse)));
  return fits;
}

bool encode_q4_0(std::span<const float> x, std::byte* b) {
  constexpr IntegerLevels kLevels = {-8, 7};
  const double d = stored_half(fit_scale(x, kLevels));
  int levels[32];
  assign_levels(x, kLevels, d, levels);
  uint8_t codes[32];
  for (size_t i = 0; i < 32; ++i) codes[i] = static_cast<uint8_t>(levels[i] + 8);
  store_nibbles_32(codes, b + 2);
  return store_half(b, d);
}

uint8_t iq4_code(int level) {
  return static_cast<uint8_t>(std::lower_bound(std::begin(kIq4Values), std::end(kIq4Values), level) -
                              std::begin(kIq4Values));
}

bool encode_iq4_nl(std::span<const float> x, std::byte* b) {
  const TableLevels table = {kIq4Values};
  const double d = stored_half(fit_scale(x, table));
  int levels[32];
  assign_levels(x, table, d, levels);
  uint8_t codes[32];
  for (size_t i = 0; i < 32; ++i) codes[i] = iq4_code(levels[i]);
  store_nibbles_32(codes, b + 2);
  return store_half(b, d);
}

// 2^(e - 128) times twice the E2M1 values. The largest value may be cut to 6 when that helps the others.
bool encode_mxfp4(std::span<const float> x, std::byte* b) {
  constexpr int kAscending[] = {-12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12};
  const TableLevels table = {kAscending};
  const float largest = largest_magnitude(x);
  std::memset(b, 0, 17);
  if (largest == 0) return true;
  const int around = std::ilogb(largest) - 2 + 127;
  double best_error = std::numeric_limits<double>::infinity();
  for (int e = std::max(0, around - 1); e <= std::max(0, around + 1); ++e) {
    int levels[32];
    const double error = assign_levels(x, table, std::ldexp(1.0, e - 128), levels);
    if (error >= best_error) continue;
    best_error = error;
    uint8_t codes[32];
    for (size_t i = 0; i < 32; ++i) {
      const auto* at = std::find(kMxfp4Values, kMxfp4Values + 8, std::abs(levels[i]));
      codes[i] = static_cast<uint8_t>((at - kMxfp4Values) + (levels[i] < 0 ? 8 : 0));
    }
    b[0] = static_cast<std::byte>(e);
    store_nibbles_32(codes, b + 1);
  }
  return true;
}

// ---- blocks of 256: groups with integer scales over one d
// -----------------------------------------------------------------------------------------------------

// value = (d * scale[group]) * level
struct ScaledGroups {
  double d = 0;
  std::array<int, kMaxGroups> scales{};
  std::array<int, 256> levels{};
  double error = 0;
};

// Integer scales around fits / d, and the levels that go with them.
template <class Levels>
ScaledGroups choose_scales(std::span<const float> x, const Levels& levels, IntegerLevels scales, size_t group,
                           const std::array<double, kMaxGroups>& fits, double d) {
  ScaledGroups best;
  best.d = d;
  if (!std::isfinite(d)) {
    best.error = std::numeric_limits<double>::infinity();
    return best;
  }
  for (size_t g = 0; g < 256 / group; ++g) {
    const auto values = x.subspan(g * group, group);
    const int middle = d == 0 ? 0 : scales.nearest(fits[g] / d);
    double least = std::numeric_limits<double>::infinity();
    for (int scale = std::max(scales.low, middle - 1); scale <= std::min(scales.high, middle + 1); ++scale) {
      int tried[256];
      const double error = assign_levels(values, levels, d * scale, tried);
      if (error >= least) continue;
      least = error;
      best.scales[g] = scale;
      std::copy_n(tried, group, best.levels.begin() + static_cast<ptrdiff_t>(g * group));
    }
    best.error += least;
  }
  return best;
}

// Fits each group, puts the largest scale at the low end of the integers, then solves for d once more with
// all codes in place.
template <class Levels>
ScaledGroups fit_groups(std::span<const float> x, const Levels& levels, IntegerLevels scales, size_t group) {
  std::array<double, kMaxGroups> fits{};
  double largest = 0;
  for (size_t g = 0; g < 256 / group; ++g) {
    fits[g] = fit_scale(x.subspan(g * group, group), levels);
    if (std::fabs(fits[g]) > std::fabs(largest)) largest = fits[g];
  }
  ScaledGroups best = choose_scales(x, levels, scales, group, fits, stored_half(largest / scales.low));
  double products = 0;
  double squares = 0;
  for (size_t i = 0; i < 256; ++i) {
    const double whole = static_cast<double>(best.scales[i / group]) * best.levels[i];
    products += whole * x[i];
    squares += whole * whole;
  }
  if (squares == 0) return best;
  const ScaledGroups again = choose_scales(x, levels, scales, group, fits, stored_half(products / squares));
  return again.error < best.error ? again : best;
}

bool encode_q6_k(std::span<const float> x, std::byte* b) {
  const ScaledGroups fit = fit_groups(x, IntegerLevels{-32, 31}, {-128, 127}, 16);
  std::memset(b, 0, 208);
  for (size_t i = 0; i < 256; ++i) {
    const auto code = static_cast<uint32_t>(fit.levels[i] + 32);
    const size_t half = i / 128;
    const size_t run = i % 128 / 32;
    b[half * 64 + run % 2 * 32 + i % 32] |= static_cast<std::byte>((code & 15) << (run / 2 * 4));
    b[128 + half * 32 + i % 32] |= static_cast<std::byte>((code >> 4) << (2 * run));
  }
  for (size_t g = 0; g < 16; ++g) b[192 + g] = static_cast<std::byte>(fit.scales[g]);
  return store_half(b + 208, fit.d);
}

bool encode_iq4_xs(std::span<const float> x, std::byte* b) {
  const ScaledGroups fit = fit_groups(x, TableLevels{kIq4Values}, {-32, 31}, 32);
  std::memset(b, 0, 8);
  uint32_t high = 0;
  for (size_t g = 0; g < 8; ++g) {
    const auto scale = static_cast<uint32_t>(fit.scales[g] + 32);
    b[4 + g / 2] |= static_cast<std::byte>((scale & 15) << (g % 2 * 4));
    high |= (scale >> 4) << (2 * g);
    uint8_t codes[32];
    for (size_t i = 0; i < 32; ++i) codes[i] = iq4_code(fit.levels[32 * g + i]);
    store_nibbles_32(codes, b + 8 + 16 * g);
  }
  store(b + 2, static_cast<uint16_t>(high));
  return store_half(b, fit.d);
}

// value = (d * scale[group]) * code - dmin * min[group]
struct ScaledAndShiftedGroups {
  ScaleAndMin d;
  std::array<int, 8> scales{};
  std::array<int, 8> mins{};
  std::array<int, 256> codes{};
  double error = 0;
};

constexpr IntegerLevels kSixBits = {0, 63};

// Integers around the fits of one group, and the codes that go with them.
void choose_pair(std::span<const float> x, int high, const ScaleAndMin& fit, size_t g,
                 ScaledAndShiftedGroups& best) {
  const int scale_middle = best.d.scale == 0 ? 0 : kSixBits.nearest(fit.scale / best.d.scale);
  const int min_middle = best.d.min == 0 ? 0 : kSixBits.nearest(fit.min / best.d.min);
  double least = std::numeric_limits<double>::infinity();
  for (int scale = std::max(0, scale_middle - 1); scale <= std::min(63, scale_middle + 1); ++scale) {
    for (int min = std::max(0, min_middle - 1); min <= std::min(63, min_middle + 1); ++min) {
      int tried[32];
      const double error = assign_codes(x, high, {best.d.scale * scale, best.d.min * min}, tried);
      if (error >= least) continue;
      least = error;
      best.scales[g] = scale;
      best.mins[g] = min;
      std::copy_n(tried, 32, best.codes.begin() + static_cast<ptrdiff_t>(32 * g));
    }
  }
  best.error += least;
}

ScaledAndShiftedGroups choose_pairs(std::span<const float> x, int high,
                                    const std::array<ScaleAndMin, 8>& fits, ScaleAndMin d) {
  ScaledAndShiftedGroups best;
  best.d = {stored_half(d.scale), stored_half(d.min)};
  if (!std::isfinite(best.d.scale) || !std::isfinite(best.d.min)) {
    best.error = std::numeric_limits<double>::infinity();
    return best;
  }
  for (size_t g = 0; g < 8; ++g) choose_pair(x.subspan(32 * g, 32), high, fits[g], g, best);
  return best;
}

ScaledAndShiftedGroups fit_pairs(std::span<const float> x, int high) {
  std::array<ScaleAndMin, 8> fits;
  ScaleAndMin largest;
  for (size_t g = 0; g < 8; ++g) {
    fits[g] = fit_scale_and_min(x.subspan(32 * g, 32), high);
    largest.scale = std::max(largest.scale, fits[g].scale);
    largest.min = std::max(largest.min, fits[g].min);
  }
  ScaledAndShiftedGroups best = choose_pairs(x, high, fits, {largest.scale / 63, largest.min / 63});
  if (std::isinf(best.error)) return best;
  PairSums sums;
  for (size_t i = 0; i < 256; ++i) {
    sums.add(static_cast<double>(best.scales[i / 32]) * best.codes[i], best.mins[i / 32], x[i]);
  }
  const ScaledAndShiftedGroups again = choose_pairs(x, high, fits, sums.solve());
  return again.error < best.error ? again : best;
}

bool encode_q4_k(std::span<const float> x, std::byte* b) {
  const ScaledAndShiftedGroups fit = fit_pairs(x, 15);
  std::memset(b + 4, 0, 12);
  for (size_t g = 0; g < 8; ++g) {
    const auto scale = static_cast<uint32_t>(fit.scales[g]);
    const auto min = static_cast<uint32_t>(fit.mins[g]);
    if (g < 4) {
      b[4 + g] |= static_cast<std::byte>(scale);
      b[8 + g] |= static_cast<std::byte>(min);
    } else {
      b[8 + g] = static_cast<std::byte>((scale & 15) | ((min & 15) << 4));
      b[g] |= static_cast<std::byte>((scale >> 4) << 6);
      b[4 + g] |= static_cast<std::byte>((min >> 4) << 6);
    }
  }
  for (size_t i = 0; i < 128; ++i) {
    const size_t first = i / 32 * 64 + i % 32;
    b[16 + i] = static_cast<std::byte>(fit.codes[first] | (fit.codes[first + 32] << 4));
  }
  const bool fits = store_half(b, fit.d.scale);
  return store_half(b + 2, fit.d.min) && fits;
}

using EncodeBlock = bool (*)(std::span<const float>, std::byte*);

EncodeBlock block_encoder(TensorType type) {
  switch (type) {
    case TensorType::kQ8_0:
      return encode_q8_0;
    case TensorType::kQ4_0:
      return encode_q4_0;
    case TensorType::kQ4_K:
      return encode_q4_k;
    case TensorType::kQ6_K:
      return encode_q6_k;
    case TensorType::kIQ4_NL:
      return encode_iq4_nl;
    case TensorType::kIQ4_XS:
      return encode_iq4_xs;
    case TensorType::kMXFP4:
      return encode_mxfp4;
    default:
      return nullptr;
  }
}

Status encode_blocks(TensorType type, EncodeBlock encode_block, std::span<const float> values,
                     std::byte* blocks) {
  const gguf::TensorTypeInfo& info = gguf::tensor_type_info(type);
  for (size_t i = 0; i < values.size() / info.block_elements; ++i) {
    const auto x = values.subspan(i * info.block_elements, info.block_elements);
    for (float v : x) {
      if (!std::isfinite(v)) return fail(ErrorKind::kInvalidInput, "{} has no code for {}", info.name, v);
    }
    if (!encode_block(x, blocks + i * info.block_bytes)) {
      return fail(ErrorKind::kInvalidInput, "{} is too large for {}, whose scales are 16-bit floats",
                  largest_magnitude(x), info.name);
    }
  }
  return {};
}

}  // namespace

Status encode(TensorType type, std::span<const float> values, std::span<std::byte> blocks) {
  OXBOW_CHECK(gguf::tensor_bytes(type, values.size()) == blocks.size());
  switch (type) {
    case TensorType::kF32:
      if (!values.empty()) std::memcpy(blocks.data(), values.data(), blocks.size());
      return {};
    case TensorType::kF16:
      for (size_t i = 0; i < values.size(); ++i) store(blocks.data() + 2 * i, float_to_half(values[i]));
      return {};
    case TensorType::kBF16:
      for (size_t i = 0; i < values.size(); ++i) store(blocks.data() + 2 * i, float_to_bf16(values[i]));
      return {};
    default:
      break;
  }
  if (const EncodeBlock encode_block = block_encoder(type)) {
    return encode_blocks(type, encode_block, values, blocks.data());
  }
  return fail(ErrorKind::kUnsupported, "values cannot be encoded as {}", gguf::tensor_type_info(type).name);
}

}  // namespace oxbow::quant
