#include "gguf/tensor_type.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/check.h"

namespace oxbow::gguf {
namespace {

constexpr std::array<TensorTypeInfo, 16> kTypes = {{
    {TensorType::kF32, "F32", 1, 4},
    {TensorType::kF16, "F16", 1, 2},
    {TensorType::kQ4_0, "Q4_0", 32, 18},
    {TensorType::kQ4_1, "Q4_1", 32, 20},
    {TensorType::kQ5_0, "Q5_0", 32, 22},
    {TensorType::kQ5_1, "Q5_1", 32, 24},
    {TensorType::kQ8_0, "Q8_0", 32, 34},
    {TensorType::kQ2_K, "Q2_K", 256, 84},
    {TensorType::kQ3_K, "Q3_K", 256, 110},
    {TensorType::kQ4_K, "Q4_K", 256, 144},
    {TensorType::kQ5_K, "Q5_K", 256, 176},
    {TensorType::kQ6_K, "Q6_K", 256, 210},
    {TensorType::kIQ4_NL, "IQ4_NL", 32, 18},
    {TensorType::kIQ4_XS, "IQ4_XS", 256, 136},
    {TensorType::kBF16, "BF16", 1, 2},
    {TensorType::kMXFP4, "MXFP4", 32, 17},
}};

struct NumberedName {
  uint32_t number;
  std::string_view name;
};

constexpr std::array<NumberedName, 25> kUndecoded = {{
    {4, "Q4_2"},    {5, "Q4_3"},        {9, "Q8_1"},        {15, "Q8_K"},       {16, "IQ2_XXS"},
    {17, "IQ2_XS"}, {18, "IQ3_XXS"},    {19, "IQ1_S"},      {21, "IQ3_S"},      {22, "IQ2_S"},
    {24, "I8"},     {25, "I16"},        {26, "I32"},        {27, "I64"},        {28, "F64"},
    {29, "IQ1_M"},  {31, "Q4_0_4_4"},   {32, "Q4_0_4_8"},   {33, "Q4_0_8_8"},   {34, "TQ1_0"},
    {35, "TQ2_0"},  {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"}, {40, "NVFP4"},
}};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

const TensorTypeInfo* find_tensor_type(uint32_t number) {
  for (const auto& info : kTypes) {
    if (static_cast<uint32_t>(info.type) == number) return &info;
  }
  return nullptr;
}

const TensorTypeInfo* find_tensor_type(std::string_view name) {
  for (const auto& info : kTypes) {
    if (equal_ignoring_case(info.name, name)) return &info;
  }
  return nullptr;
}

const TensorTypeInfo& tensor_type_info(TensorType type) {
  const TensorTypeInfo* info = find_tensor_type(static_cast<uint32_t>(type));
  OXBOW_CHECK(info != nullptr);
  return *info;
}

std::string_view undecoded_type_name(uint32_t number) {
  for (const auto& entry : kUndecoded) {
    if (entry.number == number) return entry.name;
  }
  return {};
}

std::optional<uint64_t> tensor_bytes(TensorType type, uint64_t elements) {
  const TensorTypeInfo& info = tensor_type_info(type);
  if (elements % info.block_elements != 0) return std::nullopt;
  return checked_multiply(elements / info.block_elements, info.block_bytes);
}

}  // namespace oxbow::gguf
