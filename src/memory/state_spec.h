#pragma once
// What a mixer asks memory to keep. The memory knows these two shapes and no mixer's name.

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "kernels/kv_type.h"

namespace oxbow::memory {

using TokenId = int32_t;

// Keys and values of every token, or of the last window_tokens.
struct KvSpec {
  size_t kv_heads = 0;
  size_t head_dim_k = 0;
  size_t head_dim_v = 0;
  size_t window_tokens = 0;  // 0: all
};

// One state that every token overwrites, and one log row per token from which it can be replayed.
struct RecurrentSpec {
  size_t state_floats = 0;  // f32 values, convolution history included; all zero before the first token
  size_t row_floats = 0;    // what the recurrence consumes for one token, in raw form
};

struct StateSpec {
  uint32_t layer = 0;
  std::variant<KvSpec, RecurrentSpec> kind;

  const KvSpec* kv() const { return std::get_if<KvSpec>(&kind); }
  const RecurrentSpec* recurrent() const { return std::get_if<RecurrentSpec>(&kind); }
};

struct KvTypes {
  kernels::KvType key = kernels::KvType::kF16;
  kernels::KvType value = kernels::KvType::kF16;
};

// A model is recurrent when it keeps recurrent state only, hybrid when it keeps both kinds.
bool is_recurrent(std::span<const StateSpec> specs);
bool is_hybrid(std::span<const StateSpec> specs);

}  // namespace oxbow::memory
