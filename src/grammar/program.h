#pragma once
// A grammar as instructions of a byte-level pushdown automaton.

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "grammar/expressions.h"

namespace oxbow::grammar {

using Address = uint32_t;  // of an instruction

enum class Op : uint8_t {
  kEdges,   // consume a byte: edges[first .. first + count)
  kToken,   // consume the control token `first`, go on at next
  kSplit,   // go on at each of targets[first .. first + count)
  kCall,    // do rule `first`, then go on at next
  kRepeat,  // do the body at `first` min to max times, then go on at next
  kReturn,  // end of a rule or of a body
};

struct Instruction {
  Op op;
  uint32_t first = 0, count = 0;
  Address next = 0;
  uint32_t min = 0, max = 0;
};

// Edges of one instruction stand by ascending byte and share none.
struct Edge {
  uint8_t first, last;
  Address next;
};

inline constexpr uint32_t kNever = 0xFFFFFFFF;

// Invariants: no rule calls itself before it consumed something; bodies that may be empty are repeated with
// min 0.
struct Program {
  std::vector<Instruction> code;
  std::vector<Edge> edges;
  std::vector<Address> targets;
  std::vector<Address> rules;  // where each rule begins; rule 0 is the root
  // The least stack depth, above the current one, within which the end of the current rule or body can be
  // reached from an address; kNever: it cannot.
  std::vector<uint32_t> height;
  // Whether it can be reached by bytes that are tokens of their own and by control tokens. Texts must not
  // stop between tokens where it cannot.
  std::vector<bool> spellable;
  // Bytes that no instruction tells apart have one class.
  std::array<uint8_t, 256> byte_class{};
  size_t class_count = 0;
  std::vector<uint8_t> class_byte;  // one byte of each class
};

struct ProgramLimits {
  size_t instructions = 400'000;
  size_t rules = 20'000;
};

// single_bytes: bytes that are tokens of their own. Errors: kInvalidInput for left recursion, for rules that
// are used and not defined, and for a root that has no text; kOutOfBudget above the limits. Messages name
// the rule.
Result<Program> compile_program(const Expressions& expressions, const std::bitset<256>& single_bytes,
                                const ProgramLimits& limits = {});

}  // namespace oxbow::grammar
