#include "grammar/program_analysis.h"

#include <algorithm>
#include <queue>
#include <unordered_set>

namespace oxbow::grammar {

namespace {

// Knuth's generalisation of Dijkstra's algorithm: an instruction's height is the least over its ways on, or
// the greatest of a call and what follows it; heights are settled in ascending order.
class Heights {
 public:
  Heights(const Program& program, const std::bitset<256>& bytes, bool with_tokens)
      : program_(program), heights_(program.code.size(), kNever), waiting_(program.code.size(), 1) {
    users_.resize(program.code.size());
    for (Address at = 0; at < program.code.size(); ++at) link(at, bytes, with_tokens);
  }

  std::vector<uint32_t> solve() {
    while (!queue_.empty()) {
      const auto [height, at] = queue_.top();
      queue_.pop();
      if (heights_[at] != kNever) continue;
      heights_[at] = height;
      for (const Address user : users_[at]) {
        if (heights_[user] == kNever && --waiting_[user] == 0) queue_.push({of(user, height), user});
      }
    }
    return std::move(heights_);
  }

 private:
  using Settled = std::pair<uint32_t, Address>;

  void link(Address at, const std::bitset<256>& bytes, bool with_tokens) {
    const Instruction& instruction = program_.code[at];
    switch (instruction.op) {
      case Op::kEdges:
        for (uint32_t i = 0; i < instruction.count; ++i) {
          const Edge& edge = program_.edges[instruction.first + i];
          bool usable = false;
          for (unsigned byte = edge.first; byte <= edge.last; ++byte) usable = usable || bytes[byte];
          if (usable) users_[edge.next].push_back(at);
        }
        break;
      case Op::kToken:
        if (with_tokens) users_[instruction.next].push_back(at);
        break;
      case Op::kSplit:
        for (uint32_t i = 0; i < instruction.count; ++i)
          users_[program_.targets[instruction.first + i]].push_back(at);
        break;
      case Op::kCall:
        waiting_[at] = 2;
        users_[program_.rules[instruction.first]].push_back(at);
        users_[instruction.next].push_back(at);
        break;
      case Op::kRepeat:
        users_[instruction.next].push_back(at);
        if (instruction.min == 0) break;
        waiting_[at] = 2;
        users_[instruction.first].push_back(at);
        break;
      case Op::kReturn:
        queue_.push({0, at});
        break;
    }
  }

  uint32_t of(Address at, uint32_t last_settled) const {
    const Instruction& instruction = program_.code[at];
    if (instruction.op == Op::kCall)
      return std::max(heights_[program_.rules[instruction.first]] + 1, heights_[instruction.next]);
    if (instruction.op == Op::kRepeat && instruction.min > 0)
      return std::max(heights_[instruction.first] + 1, heights_[instruction.next]);
    return last_settled;
  }

  const Program& program_;
  std::vector<uint32_t> heights_;
  std::vector<uint8_t> waiting_;  // settled instructions that are still needed
  std::vector<std::vector<Address>> users_;
  std::priority_queue<Settled, std::vector<Settled>, std::greater<>> queue_;
};

// The rules that `rule` may call before it consumes anything.
std::vector<RuleId> first_calls(const Program& program, RuleId rule,
                                const std::vector<uint32_t>& empty_heights) {
  std::vector<RuleId> calls;
  std::unordered_set<Address> seen;
  std::vector<Address> open = {program.rules[rule]};
  while (!open.empty()) {
    const Address at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    const Instruction& instruction = program.code[at];
    if (instruction.op == Op::kSplit) {
      for (uint32_t i = 0; i < instruction.count; ++i) open.push_back(program.targets[instruction.first + i]);
    } else if (instruction.op == Op::kCall) {
      calls.push_back(instruction.first);
      if (empty_heights[program.rules[instruction.first]] != kNever) open.push_back(instruction.next);
    } else if (instruction.op == Op::kRepeat) {
      open.push_back(instruction.first);
      if (instruction.min == 0 || empty_heights[instruction.first] != kNever)
        open.push_back(instruction.next);
    }
  }
  return calls;
}

}  // namespace

std::vector<uint32_t> least_heights(const Program& program, const std::bitset<256>& bytes, bool with_tokens) {
  return Heights(program, bytes, with_tokens).solve();
}

std::optional<RuleId> find_left_recursion(const Program& program,
                                          const std::vector<uint32_t>& empty_heights) {
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(program.rules.size(), Mark::kNew);
  struct Visit {
    RuleId rule;
    std::vector<RuleId> calls;
  };
  for (RuleId root = 0; root < program.rules.size(); ++root) {
    if (marks[root] != Mark::kNew) continue;
    std::vector<Visit> path;
    const auto enter = [&](RuleId rule) {
      marks[rule] = Mark::kOpen;
      path.push_back({rule, first_calls(program, rule, empty_heights)});
    };
    enter(root);
    while (!path.empty()) {
      if (path.back().calls.empty()) {
        marks[path.back().rule] = Mark::kDone;
        path.pop_back();
        continue;
      }
      const RuleId next = path.back().calls.back();
      path.back().calls.pop_back();
      if (marks[next] == Mark::kOpen) return next;
      if (marks[next] == Mark::kNew) enter(next);
    }
  }
  return std::nullopt;
}

void classify_bytes(Program& program) {
  std::bitset<257> borders;
  for (const Edge& edge : program.edges) {
    borders.set(edge.first);
    borders.set(edge.last + 1u);
  }
  program.class_byte.clear();
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (byte == 0 || borders[byte]) program.class_byte.push_back(static_cast<uint8_t>(byte));
    program.byte_class[byte] = static_cast<uint8_t>(program.class_byte.size() - 1);
  }
  program.class_count = program.class_byte.size();
}

}  // namespace oxbow::grammar
