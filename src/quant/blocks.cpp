#include "quant/blocks.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "quant/codebooks.h"
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

// 32 codes in 16 bytes, low nibbles first.
void decode_codebook(const std::byte* codes, const int (&values)[16], float scale, float* y) {
  for (size_t i = 0; i < 16; ++i) {
    const uint32_t q = byte_at(codes, i);
    y[i] = scale * static_cast<float>(values[q & 15]);
    y[i + 16] = scale * static_cast<float>(values[q >> 4]);
  }
}

void decode_iq4_nl(const std::byte* b, float* y) {
  decode_codebook(b + 2, kIq4Values, half_at(b, 0), y);
}

// 8 groups of 32 with a six-bit scale each: nibbles of 4 bytes, and two bits of a 16-bit word on top.
void decode_iq4_xs(const std::byte* b, float* y) {
  const float d = half_at(b, 0);
  const uint32_t high = load<uint16_t>(b + 2);
  for (size_t group = 0; group < 8; ++group) {
    const uint32_t low = (byte_at(b, 4 + group / 2) >> (group % 2 * 4)) & 15;
    const int scale = static_cast<int>(low | (((high >> (2 * group)) & 3) << 4)) - 32;
    decode_codebook(b + 8 + group * 16, kIq4Values, d * static_cast<float>(scale), y + group * 32);
  }
}

void decode_mxfp4(const std::byte* b, float* y) {
  const float half_scale = std::ldexp(1.0f, static_cast<int>(byte_at(b, 0)) - 128);
  decode_codebook(b + 1, kMxfp4Values, half_scale, y);
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
    case TensorType::kIQ4_NL:
      return decode_iq4_nl;
    case TensorType::kIQ4_XS:
      return decode_iq4_xs;
    case TensorType::kMXFP4:
      return decode_mxfp4;
  }
  return nullptr;
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

}  // namespace oxbow::quant
