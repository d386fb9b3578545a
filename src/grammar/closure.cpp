#include "grammar/closure.h"

#include <algorithm>

namespace oxbow::grammar {

void Automaton::Closure::add(Address at, StackId stack) {
  open_.push_back({at, stack, automaton_.stacks_[stack].depth});
  run();
}

void Automaton::Closure::resume(StackId stack) {
  leave({0, stack, automaton_.stacks_[stack].depth});
  run();
}

void Automaton::Closure::run() {
  while (!open_.empty()) {
    const Visit next = open_.back();
    open_.pop_back();
    if (steps_ < kMaxClosure && is_new(next)) visit(next);
  }
}

void Automaton::Closure::visit(const Visit& current) {
  ++steps_;
  const Program& program = automaton_.program_;
  const Instruction& instruction = program.code[current.at];
  const auto& stacks = automaton_.stacks_;
  switch (instruction.op) {
    case Op::kEdges:
    case Op::kToken: {
      const Stack& stack = stacks[current.stack];
      const uint32_t height = program.height[current.at];
      if (height == kNever || std::max(stack.depth + height, stack.need) > kMaxDepth) return;
      threads_.push_back({current.at, current.stack});
      return;
    }
    case Op::kSplit:
      for (uint32_t i = instruction.count; i-- > 0;)
        open_.push_back({program.targets[instruction.first + i], current.stack, current.floor});
      return;
    case Op::kCall: {
      // What ends with a call needs no frame for it.
      const bool is_tail = program.code[instruction.next].op == Op::kReturn;
      if (program.height[instruction.next] == kNever) return;
      const StackId stack = is_tail ? current.stack : automaton_.push(current.stack, instruction.next, 0, 0);
      open_.push_back({program.rules[instruction.first], stack, current.floor});
      return;
    }
    case Op::kRepeat:
      if (instruction.min == 0) open_.push_back({instruction.next, current.stack, current.floor});
      if (program.height[instruction.next] == kNever) return;
      open_.push_back({instruction.first,
                       automaton_.push(current.stack, current.at, instruction.min, instruction.max),
                       current.floor});
      return;
    case Op::kReturn:
      leave(current);
      return;
  }
}

void Automaton::Closure::leave(const Visit& current) {
  if (current.stack == kEmptyStack) {
    accepts_ = true;
    return;
  }
  const Stack& stack = automaton_.stacks_[current.stack];
  const auto [parent, at, min, max] = stack.frame;
  const bool consumed = stack.depth <= current.floor;
  const uint32_t floor = std::min(current.floor, stack.depth - 1);
  if (max == 0) {
    open_.push_back({at, parent, floor});
    return;
  }
  if (!consumed) return;
  const Instruction& repeat = automaton_.program_.code[at];
  const uint32_t left_min = min == 0 || min == kUnbounded ? min : min - 1;
  const uint32_t left_max = max == kUnbounded ? max : max - 1;
  if (left_min == 0) open_.push_back({repeat.next, parent, floor});
  if (left_max > 0) open_.push_back({repeat.first, automaton_.push(parent, at, left_min, left_max), floor});
}

bool Automaton::Closure::is_new(const Visit& visit) {
  if (slots_.size() < 2 * (seen_.size() + 1)) {
    slots_.assign(std::max<size_t>(64, slots_.size() * 2), 0);
    std::vector<Visit> again;
    again.swap(seen_);
    for (const Visit& old : again) is_new(old);
  }
  uint64_t hash = (uint64_t{visit.at} << 32 | visit.stack) * 0x9E3779B97F4A7C15u;
  hash ^= hash >> 29;
  hash += visit.floor;
  for (size_t slot = hash & (slots_.size() - 1);; slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot] == 0) {
      seen_.push_back(visit);
      slots_[slot] = static_cast<uint32_t>(seen_.size());
      return true;
    }
    if (seen_[slots_[slot] - 1] == visit) return false;
  }
}

void Automaton::Closure::clear_seen() {
  // A table that one large closure grew would make all later ones slow to clear.
  if (slots_.size() > 1024) slots_.resize(1024);
  std::ranges::fill(slots_, 0);
  seen_.clear();
}

ConfigurationId Automaton::Closure::take() {
  const ConfigurationId id = automaton_.intern(threads_, accepts_);
  threads_.clear();
  accepts_ = false;
  steps_ = 0;
  clear_seen();
  return id;
}

}  // namespace oxbow::grammar
