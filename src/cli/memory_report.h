#pragma once
// What a model keeps in memory, drawn: oxbow show --memory.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "memory/memory.h"
#include "model/model.h"

namespace oxbow::cli {

// What memory keeps for a model, in numbers.
struct Footprint {
  // Layers that keep the same.
  struct Kind {
    std::string letters;  // of the mixers
    size_t layers = 0;
    size_t kv_token_bytes = 0;  // of one layer
    size_t window_tokens = 0;   // 0: all tokens
    size_t state_bytes = 0;
    size_t row_bytes = 0;
  };
  std::vector<Kind> kinds;
  size_t checkpoint_bytes = 0;  // a state; what pages it needs it shares with the sequence
  size_t budget_bytes = 0;
  size_t budget_tokens = 0;       // that one sequence can hold in all of the budget
  size_t budget_checkpoints = 0;  // beside a sequence of `context` tokens, at most
  size_t context = 0;

  // Keys and values of a sequence of that many tokens, as far as they are kept.
  size_t page_bytes(size_t tokens) const;
  // Its states and its log: two states and the rows that it keeps.
  size_t recurrent_bytes(size_t tokens) const;

  memory::MemoryLayout layout;
  size_t reach_rows = 0;
};

// context: tokens that a sequence may have. The memory is that of the budget.
Footprint footprint_of(const model::Model& model, const memory::Memory& memory, size_t context);

std::string draw(const Footprint& footprint);
nlohmann::ordered_json to_json(const Footprint& footprint);

}  // namespace oxbow::cli
