#pragma once
// What follows from a program's instructions as a whole.

#include <bitset>
#include <optional>
#include <vector>

#include "grammar/program.h"

namespace oxbow::grammar {

// Program::height when only these bytes and, if with_tokens, control tokens can be consumed.
std::vector<uint32_t> least_heights(const Program& program, const std::bitset<256>& bytes, bool with_tokens);

// A rule that calls itself before it consumes anything. empty_heights: least_heights of no bytes and no
// tokens, finite where nothing must be consumed.
std::optional<RuleId> find_left_recursion(const Program& program, const std::vector<uint32_t>& empty_heights);

// Fills the byte classes.
void classify_bytes(Program& program);

}  // namespace oxbow::grammar
