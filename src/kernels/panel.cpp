#include "kernels/panel.h"

#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "kernels/body/panel_formats.h"
#include "quant/half.h"

namespace oxbow::kernels {
namespace {

using gguf::TensorType;

// The codes and scales of one row of a unit before they are spread over a panel.
struct RowUnit {
  uint8_t codes[256];  // unsigned, offset included
  uint16_t d;          // binary16
  uint16_t second;     // binary16: m, or dmin
  uint8_t scales[16];
  uint8_t mins[16];
};

uint8_t byte_at(const std::byte* b, size_t i) {
  return static_cast<uint8_t>(b[i]);
}

// ---- GGUF blocks -> row units
// -------------------------------------------------------------------------------------

// Two runs of 16 codes: low nibbles, then high nibbles.
void read_nibbles_32(const std::byte* b, uint8_t* codes) {
  for (size_t i = 0; i < 16; ++i) {
    codes[i] = byte_at(b, i) & 15;
    codes[i + 16] = byte_at(b, i) >> 4;
  }
}

void read_fifth_bits_32(const std::byte* b, uint8_t* codes) {
  const uint32_t bits = load<uint32_t>(b);
  for (size_t i = 0; i < 32; ++i) codes[i] |= static_cast<uint8_t>(((bits >> i) & 1) << 4);
}

void read_q8_0(const std::byte* b, RowUnit& u) {
  u.d = load<uint16_t>(b);
  for (size_t i = 0; i < 32; ++i) u.codes[i] = byte_at(b, 2 + i) ^ 0x80;
}

void read_q4_0(const std::byte* b, RowUnit& u) {
  u.d = load<uint16_t>(b);
  read_nibbles_32(b + 2, u.codes);
}

void read_q5_0(const std::byte* b, RowUnit& u) {
  u.d = load<uint16_t>(b);
  read_nibbles_32(b + 6, u.codes);
  read_fifth_bits_32(b + 2, u.codes);
}

void read_q4_1(const std::byte* b, RowUnit& u) {
  u.d = load<uint16_t>(b);
  u.second = load<uint16_t>(b + 2);
  read_nibbles_32(b + 4, u.codes);
}

void read_q5_1(const std::byte* b, RowUnit& u) {
  u.d = load<uint16_t>(b);
  u.second = load<uint16_t>(b + 2);
  read_nibbles_32(b + 8, u.codes);
  read_fifth_bits_32(b + 4, u.codes);
}

// 256 two-bit codes in two halves of 32 bytes; run s of 32 codes of a half is bits 2 s.
void read_crumbs_256(const std::byte* b, uint8_t* codes) {
  for (size_t half = 0; half < 2; ++half) {
    for (size_t s = 0; s < 4; ++s) {
      for (size_t i = 0; i < 32; ++i) {
        codes[half * 128 + s * 32 + i] = (byte_at(b, half * 32 + i) >> (2 * s)) & 3;
      }
    }
  }
}

void read_q2_k(const std::byte* b, RowUnit& u) {
  for (size_t i = 0; i < 16; ++i) {
    u.scales[i] = byte_at(b, i) & 15;
    u.mins[i] = byte_at(b, i) >> 4;
  }
  read_crumbs_256(b + 16, u.codes);
  u.d = load<uint16_t>(b + 80);
  u.second = load<uint16_t>(b + 82);
}

// Codes -4..3 and scales -32..31 become Q6_K's codes with offset 32 and its signed scales.
void read_q3_k(const std::byte* b, RowUnit& u) {
  read_crumbs_256(b + 32, u.codes);
  for (size_t i = 0; i < 256; ++i) {
    const uint32_t high = (byte_at(b, i % 32) >> (i / 32)) & 1;
    u.codes[i] = static_cast<uint8_t>(u.codes[i] + 4 * high + 28);
  }
  const std::byte* s = b + 96;
  for (size_t i = 0; i < 16; ++i) {
    const uint32_t low = i < 8 ? byte_at(s, i) & 15 : byte_at(s, i - 8) >> 4;
    const uint32_t high = (byte_at(s, 8 + i % 4) >> (i / 4 * 2)) & 3;
    u.scales[i] = static_cast<uint8_t>((low | (high << 4)) - 32);
  }
  u.d = load<uint16_t>(b + 108);
}

// The 12 bytes of eight 6-bit scales and mins that Q4_K and Q5_K share.
void read_six_bit_scales(const std::byte* s, RowUnit& u) {
  for (size_t i = 0; i < 4; ++i) {
    const uint8_t a = byte_at(s, i), b = byte_at(s, i + 4), c = byte_at(s, i + 8);
    u.scales[i] = a & 63;
    u.mins[i] = b & 63;
    u.scales[i + 4] = static_cast<uint8_t>((c & 15) | ((a >> 6) << 4));
    u.mins[i + 4] = static_cast<uint8_t>((c >> 4) | ((b >> 6) << 4));
  }
}

void read_q4_k(const std::byte* b, RowUnit& u) {
  u.d = load<uint16_t>(b);
  u.second = load<uint16_t>(b + 2);
  read_six_bit_scales(b + 4, u);
  for (size_t pair = 0; pair < 4; ++pair) {
    for (size_t i = 0; i < 32; ++i) {
      const uint8_t q = byte_at(b, 16 + pair * 32 + i);
      u.codes[pair * 64 + i] = q & 15;
      u.codes[pair * 64 + 32 + i] = q >> 4;
    }
  }
}

void read_q5_k(const std::byte* b, RowUnit& u) {
  u.d = load<uint16_t>(b);
  u.second = load<uint16_t>(b + 2);
  read_six_bit_scales(b + 4, u);
  for (size_t pair = 0; pair < 4; ++pair) {
    for (size_t i = 0; i < 32; ++i) {
      const uint8_t q = byte_at(b, 48 + pair * 32 + i);
      const uint32_t high = byte_at(b, 16 + i);
      u.codes[pair * 64 + i] = static_cast<uint8_t>((q & 15) | (((high >> (2 * pair)) & 1) << 4));
      u.codes[pair * 64 + 32 + i] = static_cast<uint8_t>((q >> 4) | (((high >> (2 * pair + 1)) & 1) << 4));
    }
  }
}

void read_q6_k(const std::byte* b, RowUnit& u) {
  for (size_t half = 0; half < 2; ++half) {
    const std::byte* low = b + half * 64;
    const std::byte* high = b + 128 + half * 32;
    uint8_t* codes = u.codes + half * 128;
    for (size_t i = 0; i < 32; ++i) {
      const uint32_t h = byte_at(high, i);
      codes[i] = static_cast<uint8_t>((byte_at(low, i) & 15) | ((h & 3) << 4));
      codes[i + 32] = static_cast<uint8_t>((byte_at(low, i + 32) & 15) | (((h >> 2) & 3) << 4));
      codes[i + 64] = static_cast<uint8_t>((byte_at(low, i) >> 4) | (((h >> 4) & 3) << 4));
      codes[i + 96] = static_cast<uint8_t>((byte_at(low, i + 32) >> 4) | ((h >> 6) << 4));
    }
  }
  std::memcpy(u.scales, b + 192, 16);
  u.d = load<uint16_t>(b + 208);
}

void read_iq4_xs(const std::byte* b, RowUnit& u) {
  u.d = load<uint16_t>(b);
  const uint32_t high = load<uint16_t>(b + 2);
  for (size_t g = 0; g < 8; ++g) {
    const uint32_t low = (byte_at(b, 4 + g / 2) >> (g % 2 * 4)) & 15;
    u.scales[g] = static_cast<uint8_t>(low | (((high >> (2 * g)) & 3) << 4));
    read_nibbles_32(b + 8 + 16 * g, u.codes + 32 * g);
  }
}

void read_mxfp4(const std::byte* b, RowUnit& u) {
  u.scales[0] = byte_at(b, 0);
  read_nibbles_32(b + 1, u.codes);
}

// ---- row units -> panel
// ---------------------------------------------------------------------------------------

// Four codes of one row, one per byte: the 4 bytes that stay together in a plane.
uint32_t quad_of(const uint8_t* codes, size_t v) {
  uint32_t quad;
  std::memcpy(&quad, codes + 4 * v, 4);
  return quad;
}

void put_word(std::byte* plane, size_t row, uint32_t word) {
  std::memcpy(plane + 4 * row, &word, 4);
}

void put_8_bits(const uint8_t* codes, size_t row, std::byte* block) {
  for (size_t v = 0; v < 8; ++v) put_word(block + 64 * v, row, quad_of(codes, v));
}

void put_low_4_bits(const uint8_t* codes, size_t row, std::byte* block) {
  constexpr uint32_t kLow = 0x0f0f0f0fU;
  for (size_t v = 0; v < 4; ++v) {
    put_word(block + 64 * v, row, (quad_of(codes, v) & kLow) | ((quad_of(codes, v + 4) & kLow) << 4));
  }
}

// Bits [shift, shift + 2) of the codes.
void put_2_bits(const uint8_t* codes, size_t shift, size_t row, std::byte* block) {
  for (size_t h = 0; h < 2; ++h) {
    uint32_t word = 0;
    for (size_t i = 0; i < 4; ++i) word |= ((quad_of(codes, 4 * h + i) >> shift) & 0x03030303U) << (2 * i);
    put_word(block + 64 * h, row, word);
  }
}

void put_fifth_bit(const uint8_t* codes, size_t row, std::byte* block) {
  uint32_t word = 0;
  for (size_t v = 0; v < 8; ++v) word |= ((quad_of(codes, v) >> 4) & 0x01010101U) << v;
  put_word(block, row, word);
}

void put_4(const uint8_t* codes, size_t row, std::byte* block) {
  put_low_4_bits(codes, row, block);
}

void put_5(const uint8_t* codes, size_t row, std::byte* block) {
  put_low_4_bits(codes, row, block);
  put_fifth_bit(codes, row, block + 256);
}

void put_6(const uint8_t* codes, size_t row, std::byte* block) {
  put_low_4_bits(codes, row, block);
  put_2_bits(codes, 4, row, block + 256);
}

void put_2(const uint8_t* codes, size_t row, std::byte* block) {
  put_2_bits(codes, 0, row, block);
}

// Headers: `index` is the block inside the unit.
void head_pair(const RowUnit& u, size_t row, size_t index, std::byte* header) {
  store(header + 32 * index + 2 * row, u.d);
}

void head_single(const RowUnit& u, size_t row, size_t, std::byte* header) {
  store(header + 2 * row, u.d);
  store(header + 32 + 2 * row, u.second);
}

void head_six_bit(const RowUnit& u, size_t row, size_t, std::byte* header) {
  head_single(u, row, 0, header);
  std::byte* words = header + 64;
  for (size_t j = 0; j < 4; ++j) {
    const uint8_t m = u.mins[4 + j];
    words[4 * row + j] = static_cast<std::byte>(u.scales[j] | ((m & 3) << 6));
    words[64 + 4 * row + j] = static_cast<std::byte>(u.scales[4 + j] | (((m >> 2) & 3) << 6));
    words[128 + 4 * row + j] = static_cast<std::byte>(u.mins[j] | ((m >> 4) << 6));
  }
}

void head_q2_k(const RowUnit& u, size_t row, size_t, std::byte* header) {
  head_single(u, row, 0, header);
  for (size_t i = 0; i < 16; ++i) {
    header[64 + i / 4 * 64 + 4 * row + i % 4] = static_cast<std::byte>(u.scales[i] | (u.mins[i] << 4));
  }
}

void head_q6_k(const RowUnit& u, size_t row, size_t, std::byte* header) {
  store(header + 4 * row, quant::half_to_float(u.d));
  for (size_t i = 0; i < 16; ++i) {
    header[64 + i / 4 * 64 + 4 * row + i % 4] = static_cast<std::byte>(u.scales[i]);
  }
}

void head_iq4_xs(const RowUnit& u, size_t row, size_t, std::byte* header) {
  store(header + 2 * row, u.d);
  uint32_t low = 0;
  uint32_t high = 0;
  for (size_t g = 0; g < 8; ++g) {
    low |= static_cast<uint32_t>(u.scales[g] & 15) << (4 * g);
    high |= static_cast<uint32_t>(u.scales[g] >> 4) << (2 * g);
  }
  store(header + 32 + 2 * row, static_cast<uint16_t>(high));
  store(header + 64 + 4 * row, low);
}

void head_mxfp4(const RowUnit& u, size_t row, size_t index, std::byte* header) {
  header[4 * row + index] = static_cast<std::byte>(u.scales[0]);
}

// ---- formats
// --------------------------------------------------------------------------------------------------

struct Shape {
  size_t unit_blocks = 0;
  size_t header_bytes = 0;
  size_t block_bytes = 0;

  size_t unit_bytes() const { return header_bytes + unit_blocks * block_bytes; }
};

template <typename Layout>
Shape shape_of() {
  return {Layout::kUnitBlocks, Layout::kHeaderBytes, Layout::kBlockBytes};
}

Shape format_shape(PanelFormat format) {
  switch (format) {
    case PanelFormat::kQ8_0:
      return shape_of<Q8_0Layout>();
    case PanelFormat::kQ4_0:
      return shape_of<Q4_0Layout>();
    case PanelFormat::kQ4_1:
      return shape_of<Q4_1Layout>();
    case PanelFormat::kQ5_0:
      return shape_of<Q5_0Layout>();
    case PanelFormat::kQ5_1:
      return shape_of<Q5_1Layout>();
    case PanelFormat::kQ2_K:
      return shape_of<Q2_KLayout>();
    case PanelFormat::kQ4_K:
      return shape_of<Q4_KLayout>();
    case PanelFormat::kQ5_K:
      return shape_of<Q5_KLayout>();
    case PanelFormat::kQ6_K:
      return shape_of<Q6_KLayout>();
    case PanelFormat::kIQ4_NL:
      return shape_of<IQ4_NLLayout>();
    case PanelFormat::kIQ4_XS:
      return shape_of<IQ4_XSLayout>();
    case PanelFormat::kMXFP4:
      return shape_of<MXFP4Layout>();
    case PanelFormat::kF32:
    case PanelFormat::kF16:
    case PanelFormat::kBF16:
      return {};
  }
  return {};
}

struct Packer {
  void (*read)(const std::byte* block, RowUnit& unit);
  void (*head)(const RowUnit& unit, size_t row, size_t index, std::byte* header);
  void (*put)(const uint8_t* codes, size_t row, std::byte* block);
};

Packer packer_of(TensorType type) {
  switch (type) {
    case TensorType::kQ8_0:
      return {read_q8_0, head_pair, put_8_bits};
    case TensorType::kQ4_0:
      return {read_q4_0, head_pair, put_4};
    case TensorType::kQ5_0:
      return {read_q5_0, head_pair, put_5};
    case TensorType::kQ4_1:
      return {read_q4_1, head_single, put_4};
    case TensorType::kQ5_1:
      return {read_q5_1, head_single, put_5};
    case TensorType::kQ2_K:
      return {read_q2_k, head_q2_k, put_2};
    case TensorType::kQ3_K:
      return {read_q3_k, head_q6_k, put_6};
    case TensorType::kQ4_K:
      return {read_q4_k, head_six_bit, put_4};
    case TensorType::kQ5_K:
      return {read_q5_k, head_six_bit, put_5};
    case TensorType::kQ6_K:
      return {read_q6_k, head_q6_k, put_6};
    case TensorType::kIQ4_NL:
      return {read_q4_0, head_pair, put_4};
    case TensorType::kIQ4_XS:
      return {read_iq4_xs, head_iq4_xs, put_4};
    case TensorType::kMXFP4:
      return {read_mxfp4, head_mxfp4, put_4};
    case TensorType::kF32:
    case TensorType::kF16:
    case TensorType::kBF16:
      break;
  }
  return {};
}

// [rows, cols] -> [cols, 16].
template <typename T>
void pack_floats(const std::byte* source, size_t row_bytes, size_t rows, size_t cols, std::byte* panel) {
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < cols; ++i) {
      store(panel + (i * kPanelRows + row) * sizeof(T), load<T>(source + row * row_bytes + i * sizeof(T)));
    }
  }
}

void pack_blocks(TensorType type, const std::byte* source, size_t row_bytes, size_t rows, size_t cols,
                 std::byte* panel) {
  const gguf::TensorTypeInfo& info = gguf::tensor_type_info(type);
  const Shape shape = format_shape(panel_format(type));
  const Packer packer = packer_of(type);
  OXBOW_CHECK(packer.read != nullptr && cols % info.block_elements == 0);
  const size_t blocks_per_source = info.block_elements / kActivationBlock;
  for (size_t row = 0; row < rows; ++row) {
    for (size_t block = 0; block < cols / kActivationBlock; block += blocks_per_source) {
      RowUnit unit{};
      packer.read(source + row * row_bytes + block / blocks_per_source * info.block_bytes, unit);
      std::byte* header = panel + block / shape.unit_blocks * shape.unit_bytes();
      const size_t index = block % shape.unit_blocks;
      packer.head(unit, row, index, header);
      std::byte* first = header + shape.header_bytes + index * shape.block_bytes;
      for (size_t b = 0; b < blocks_per_source; ++b) {
        packer.put(unit.codes + kActivationBlock * b, row, first + b * shape.block_bytes);
      }
    }
  }
}

}  // namespace

PanelFormat panel_format(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return PanelFormat::kF32;
    case TensorType::kF16:
      return PanelFormat::kF16;
    case TensorType::kBF16:
      return PanelFormat::kBF16;
    case TensorType::kQ8_0:
      return PanelFormat::kQ8_0;
    case TensorType::kQ4_0:
      return PanelFormat::kQ4_0;
    case TensorType::kQ4_1:
      return PanelFormat::kQ4_1;
    case TensorType::kQ5_0:
      return PanelFormat::kQ5_0;
    case TensorType::kQ5_1:
      return PanelFormat::kQ5_1;
    case TensorType::kQ2_K:
      return PanelFormat::kQ2_K;
    case TensorType::kQ3_K:
    case TensorType::kQ6_K:
      return PanelFormat::kQ6_K;
    case TensorType::kQ4_K:
      return PanelFormat::kQ4_K;
    case TensorType::kQ5_K:
      return PanelFormat::kQ5_K;
    case TensorType::kIQ4_NL:
      return PanelFormat::kIQ4_NL;
    case TensorType::kIQ4_XS:
      return PanelFormat::kIQ4_XS;
    case TensorType::kMXFP4:
      return PanelFormat::kMXFP4;
  }
  OXBOW_CHECK(false && "unknown tensor type");
  return PanelFormat::kF32;
}

bool takes_quantized_rows(PanelFormat format) {
  return format != PanelFormat::kF32 && format != PanelFormat::kF16 && format != PanelFormat::kBF16;
}

size_t panel_bytes(PanelFormat format, size_t cols) {
  size_t bytes = 0;
  if (format == PanelFormat::kF32) {
    bytes = cols * kPanelRows * 4;
  } else if (!takes_quantized_rows(format)) {
    bytes = cols * kPanelRows * 2;
  } else {
    const Shape shape = format_shape(format);
    const size_t blocks = cols / kActivationBlock;
    bytes = (blocks + shape.unit_blocks - 1) / shape.unit_blocks * shape.header_bytes +
            blocks * shape.block_bytes;
  }
  return (bytes + 63) / 64 * 64;
}

void pack_panel(TensorType type, const std::byte* source, size_t row_bytes, size_t rows, size_t cols,
                std::byte* panel) {
  OXBOW_CHECK(rows >= 1 && rows <= kPanelRows);
  std::memset(panel, 0, panel_bytes(panel_format(type), cols));
  switch (type) {
    case TensorType::kF32:
      return pack_floats<uint32_t>(source, row_bytes, rows, cols, panel);
    case TensorType::kF16:
    case TensorType::kBF16:
      return pack_floats<uint16_t>(source, row_bytes, rows, cols, panel);
    default:
      return pack_blocks(type, source, row_bytes, rows, cols, panel);
  }
}

}  // namespace oxbow::kernels
