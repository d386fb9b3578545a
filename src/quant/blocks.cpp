#include "quant/blocks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "quant/half.h"

namespace oxbow::quant {
namespace {

// Byte positions inside a block follow docs/formats/tensor-types.md. `b` is one block, `y` its values.

uint32_t byte_at(const std::byte* b, size_t i) {
  return static_cast<uint32_t>(b[i]);
}
int signed_byte_at(const std::byte* b, size_t i) {
  return static_cast<int8_t>(b[i]);
}
float half_at(const std::byte* b, size_t i) {
  return half_to_float(load<uint16_t>(b + i));
}

void decode_q4_0(const std::byte* b, float* y) {
  const float d = half_at(b, 0);
  for (size_t i = 0; i < 16; ++i) {
    const uint32_t q = byte_at(b, 2 + i);
    y[i] = static_cast<float>(static_cast<int>(q & 15) - 8) * d;
    y[i + 16] = static_cast<float>(static_cast<int>(q >> 4) - 8) * d;
  }
}

void decode_q4_1(const std::byte* b, float* y) {
  const float d = half_at(b, 0);
  const float m = half_at(b, 2);
  for (size_t i = 0; i < 16; ++i) {
    const uint32_t q = byte_at(b, 4 + i);
    y[i] = static_cast<float>(q & 15) * d + m;
    y[i + 16] = static_cast<float>(q >> 4) * d + m;
  }
}

void decode_q5_0(const std::byte* b, float* y) {
  const float d = half_at(b, 0);
  const uint32_t high = load<uint32_t>(b + 2);  // bit i is bit 4 of value i
  for (size_t i = 0; i < 16; ++i) {
    const uint32_t q = byte_at(b, 6 + i);
    const uint32_t low = (q & 15) | (((high >> i) & 1) << 4);
    const uint32_t upper = (q >> 4) | (((high >> (i + 16)) & 1) << 4);
    y[i] = static_cast<float>(static_cast<int>(low) - 16) * d;
    y[i + 16] = static_cast<float>(static_cast<int>(upper) - 16) * d;
  }
}

void decode_q5_1(const std::byte* b, float* y) {
  const float d = half_at(b, 0);
  const float m = half_at(b, 2);
  const uint32_t high = load<uint32_t>(b + 4);
  for (size_t i = 0; i < 16; ++i) {
    const uint32_t q = byte_at(b, 8 + i);
    const uint32_t low = (q & 15) | (((high >> i) & 1) << 4);
    const uint32_t upper = (q >> 4) | (((high >> (i + 16)) & 1) << 4);
    y[i] = static_cast<float>(low) * d + m;
    y[i + 16] = static_cast<float>(upper) * d + m;
  }
}

void decode_q8_0(const std::byte* b, float* y) {
  const float d = half_at(b, 0);
  for (size_t i = 0; i < 32; ++i) y[i] = static_cast<float>(signed_byte_at(b, 2 + i)) * d;
}

// 16 groups of 16: y = (d * scale) q - (dmin * min), scales and mins of 4 bits, q of 2. Each half of 128
// values has 32 bytes; value 32 s + i of the half is bits 2s of byte i.
void decode_q2_k(const std::byte* b, float* y) {
  const float d = half_at(b, 80);
  const float dmin = half_at(b, 82);
  for (size_t group = 0; group < 16; ++group) {
    const uint32_t scale = byte_at(b, group);
    const float step = d * static_cast<float>(scale & 15);
    const float offset = dmin * static_cast<float>(scale >> 4);
    const std::byte* q = b + 16 + group / 8 * 32 + group % 2 * 16;
    const size_t shift = group % 8 / 2 * 2;
    for (size_t i = 0; i < 16; ++i) {
      y[group * 16 + i] = step * static_cast<float>((byte_at(q, i) >> shift) & 3) - offset;
    }
  }
}

// 16 six-bit scales in 12 bytes: 8 bytes of low nibbles, then 4 bytes with the upper two bits of each.
int q3_scale(const std::byte* s, size_t group) {
  const uint32_t low = group < 8 ? byte_at(s, group) & 15 : byte_at(s, group - 8) >> 4;
  const uint32_t high = (byte_at(s, 8 + group % 4) >> (group / 4 * 2)) & 3;
  return static_cast<int>(low | (high << 4)) - 32;
}

// As Q2_K, without mins; a third bit comes from 32 mask bytes, bit 4 half + s of byte i; when clear, 4 is
// subtracted.
void decode_q3_k(const std::byte* b, float* y) {
  const float d = half_at(b, 108);
  for (size_t group = 0; group < 16; ++group) {
    const float step = d * static_cast<float>(q3_scale(b + 96, group));
    const std::byte* q = b + 32 + group / 8 * 32 + group % 2 * 16;
    const std::byte* mask = b + group % 2 * 16;
    const size_t shift = group % 8 / 2 * 2;
    for (size_t i = 0; i < 16; ++i) {
      const int low = static_cast<int>((byte_at(q, i) >> shift) & 3);
      const int high = static_cast<int>((byte_at(mask, i) >> (group / 2)) & 1);
      y[group * 16 + i] = step * static_cast<float>(low - 4 * (1 - high));
    }
  }
}

struct ScaleAndMin {
  float scale;
  float min;
};

// 8 six-bit scales and 8 six-bit mins in 12 bytes: the first four of each whole, the others as nibbles in the
// last four bytes with their upper two bits on top of the first eight.
ScaleAndMin q45_scale(const std::byte* s, size_t group) {
  if (group < 4) {
    return {static_cast<float>(byte_at(s, group) & 63), static_cast<float>(byte_at(s, group + 4) & 63)};
  }
  const uint32_t low = byte_at(s, group + 4);
  return {static_cast<float>((low & 15) | ((byte_at(s, group - 4) >> 6) << 4)),
          static_cast<float>((low >> 4) | ((byte_at(s, group) >> 6) << 4))};
}

// 8 groups of 32; groups 2j and 2j + 1 are the low and high nibbles of the same 32 bytes.
void decode_q4_k(const std::byte* b, float* y) {
  const float d = half_at(b, 0);
  const float dmin = half_at(b, 2);
  for (size_t group = 0; group < 8; ++group) {
    const auto [scale, min] = q45_scale(b + 4, group);
    const float step = d * scale;
    const float offset = dmin * min;
    const std::byte* q = b + 16 + group / 2 * 32;
    const size_t shift = group % 2 * 4;
    for (size_t i = 0; i < 32; ++i) {
      y[group * 32 + i] = step * static_cast<float>((byte_at(q, i) >> shift) & 15) - offset;
    }
  }
}

// As Q4_K with a fifth bit: bit `group` of high byte i.
void decode_q5_k(const std::byte* b, float* y) {
  const float d = half_at(b, 0);
  const float dmin = half_at(b, 2);
  for (size_t group = 0; group < 8; ++group) {
    const auto [scale, min] = q45_scale(b + 4, group);
    const float step = d * scale;
    const float offset = dmin * min;
    const std::byte* high = b + 16;
    const std::byte* q = b + 48 + group / 2 * 32;
    const size_t shift = group % 2 * 4;
    for (size_t i = 0; i < 32; ++i) {
      const uint32_t code = ((byte_at(q, i) >> shift) & 15) | (((byte_at(high, i) >> group) & 1) << 4);
      y[group * 32 + i] = step * static_cast<float>(code) - offset;
    }
  }
}

// Two halves of 128, each 4 runs of 32: run r takes nibbles from low bytes (r % 2) 32 + i, upper half of the
// byte from run 2 on, and bits 2r of high byte i. One signed scale per 16 values.
void decode_q6_k(const std::byte* b, float* y) {
  const float d = half_at(b, 208);
  for (size_t run = 0; run < 8; ++run) {
    const size_t half = run / 4;
    const size_t r = run % 4;
    const std::byte* low = b + half * 64 + r % 2 * 32;
    const std::byte* high = b + 128 + half * 32;
    for (size_t i = 0; i < 32; ++i) {
      const uint32_t code =
          ((byte_at(low, i) >> (r / 2 * 4)) & 15) | (((byte_at(high, i) >> (2 * r)) & 3) << 4);
      const float step = d * static_cast<float>(signed_byte_at(b, 192 + run * 2 + i / 16));
      y[run * 32 + i] = step * static_cast<float>(static_cast<int>(code) - 32);
    }
  }
}

using DecodeBlock = void (*)(const std::byte*, float*);

DecodeBlock block_decoder(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return [](const std::byte* b, float* y) { *y = load<float>(b); };
    case TensorType::kF16:
      return [](const std::byte* b, float* y) { *y = half_at(b, 0); };
    case TensorType::kBF16:
      return [](const std::byte* b, float* y) { *y = bf16_to_float(load<uint16_t>(b)); };
    case TensorType::kQ4_0:
      return decode_q4_0;
    case TensorType::kQ4_1:
      return decode_q4_1;
    case TensorType::kQ5_0:
      return decode_q5_0;
    case TensorType::kQ5_1:
      return decode_q5_1;
    case TensorType::kQ8_0:
      return decode_q8_0;
    case TensorType::kQ2_K:
      return decode_q2_k;
    case TensorType::kQ3_K:
      return decode_q3_k;
    case TensorType::kQ4_K:
      return decode_q4_k;
    case TensorType::kQ5_K:
      return decode_q5_k;
    case TensorType::kQ6_K:
      return decode_q6_k;
  }
  return nullptr;
}

Status encode_q8_0(const float* x, std::byte* b) {
  float largest = 0;
  for (size_t i = 0; i < 32; ++i) {
    if (!std::isfinite(x[i])) return fail(ErrorKind::kInvalidInput, "Q8_0 has no code for {}", x[i]);
    largest = std::max(largest, std::fabs(x[i]));
  }
  const float d = largest / 127.0f;
  const uint16_t stored = float_to_half(d);
  if ((stored & 0x7c00U) == 0x7c00U) {
    return fail(ErrorKind::kInvalidInput, "{} is too large for Q8_0, whose scales are 16-bit floats",
                largest);
  }
  // A scale that rounds to zero decodes to zeros whatever the codes, and its inverse may be infinite.
  const float inverse = stored == 0 ? 0.0f : 1.0f / d;
  store(b, stored);
  for (size_t i = 0; i < 32; ++i) {
    store(b + 2 + i, static_cast<int8_t>(std::round(x[i] * inverse)));
  }
  return {};
}

}  // namespace

void decode(TensorType type, std::span<const std::byte> blocks, std::span<float> values) {
  const gguf::TensorTypeInfo& info = gguf::tensor_type_info(type);
  OXBOW_CHECK(gguf::tensor_bytes(type, values.size()) == blocks.size());
  if (type == TensorType::kF32) {
    if (!values.empty()) std::memcpy(values.data(), blocks.data(), blocks.size());
    return;
  }
  const DecodeBlock decode_block = block_decoder(type);
  const size_t count = values.size() / info.block_elements;
  for (size_t i = 0; i < count; ++i) {
    decode_block(blocks.data() + i * info.block_bytes, values.data() + i * info.block_elements);
  }
}

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
    case TensorType::kQ8_0:
      for (size_t i = 0; i < values.size() / 32; ++i) {
        OXBOW_TRY(encode_q8_0(values.data() + 32 * i, blocks.data() + 34 * i));
      }
      return {};
    default:
      return fail(ErrorKind::kUnsupported, "values cannot be encoded as {}",
                  gguf::tensor_type_info(type).name);
  }
}

}  // namespace oxbow::quant
