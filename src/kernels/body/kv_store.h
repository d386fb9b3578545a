#pragma once
// Writing one token's key and value into a block of 64 positions.

#include "kernels/body/row.h"

OXBOW_ISA_BEGIN

// A key is a column of [head_dim, 64].
inline void store_key(const float* k, size_t head_dim, size_t slot, KvType type, std::byte* block) {
  if (type == KvType::kF32) {
    float* column = reinterpret_cast<float*>(block) + slot;
    for (size_t d = 0; d < head_dim; ++d) column[d * kKeyBlock] = k[d];
    return;
  }
  uint16_t* column = reinterpret_cast<uint16_t*>(block) + slot;
  for_each_vector(head_dim, [&](size_t d, size_t count) {
    uint16_t words[kLanes];
    store_f16(words, load_up_to(k + d, count));
    for (size_t i = 0; i < count; ++i) column[(d + i) * kKeyBlock] = words[i];
  });
}

// A value is a row of [64, head_dim].
inline void store_value(const float* v, size_t head_dim, size_t slot, KvType type, std::byte* block) {
  for_each_vector(head_dim, [&](size_t d, size_t count) {
    const size_t index = slot * head_dim + d;
    const F32x16 lanes = load_up_to(v + d, count);
    if (type == KvType::kF32) {
      store_up_to(reinterpret_cast<float*>(block) + index, lanes, count);
    } else {
      store_f16_up_to(reinterpret_cast<uint16_t*>(block) + index, lanes, count);
    }
  });
}

OXBOW_ISA_END
