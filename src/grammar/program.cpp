#include "grammar/program.h"

#include <algorithm>
#include <map>
#include <optional>

#include "grammar/program_analysis.h"
#include "grammar/utf8_ranges.h"

namespace oxbow::grammar {

namespace {

// Repetitions up to this many instructions are written out; others count on the stack.
constexpr uint64_t kMaxUnrolled = 64;

// Writes instructions from the end of each rule to its beginning: what follows is known first.
class Compiler {
 public:
  Compiler(const Expressions& expressions, const ProgramLimits& limits)
      : expressions_(expressions), limits_(limits) {}

  Result<Program> run() {
    if (expressions_.rules().empty()) return fail(ErrorKind::kInvalidInput, "there is no root rule");
    if (expressions_.rules().size() > limits_.rules)
      return fail(ErrorKind::kOutOfBudget, "the grammar has {} rules, the limit is {}",
                  expressions_.rules().size(), limits_.rules);
    end_ = add({Op::kReturn});
    for (const auto& rule : expressions_.rules()) {
      if (!rule.defined) return fail(ErrorKind::kInvalidInput, "rule '{}' is not defined", rule.name);
      program_.rules.push_back(compile(rule.body, end_));
      if (full())
        return fail(ErrorKind::kOutOfBudget, "the grammar has more than {} instructions (in rule '{}')",
                    limits_.instructions, rule.name);
    }
    return std::move(program_);
  }

 private:
  using Kind = Expressions::Kind;
  using Node = Expressions::Node;

  bool full() const {
    return program_.code.size() + program_.edges.size() + program_.targets.size() > limits_.instructions;
  }

  Address add(Instruction instruction) {
    program_.code.push_back(instruction);
    return static_cast<Address>(program_.code.size() - 1);
  }

  Address add_edges(std::vector<Edge> edges) {
    std::ranges::sort(edges, {}, &Edge::first);
    const auto first = static_cast<uint32_t>(program_.edges.size());
    program_.edges.insert(program_.edges.end(), edges.begin(), edges.end());
    return add({Op::kEdges, first, static_cast<uint32_t>(edges.size())});
  }

  Address add_split(std::span<const Address> targets) {
    const auto first = static_cast<uint32_t>(program_.targets.size());
    program_.targets.insert(program_.targets.end(), targets.begin(), targets.end());
    return add({Op::kSplit, first, static_cast<uint32_t>(targets.size())});
  }

  // Where `id` begins when `next` follows it. Anything once the program is full.
  Address compile(ExpressionId id, Address next) {
    if (full()) return next;
    const Node& node = expressions_.node(id);
    switch (node.kind) {
      case Kind::kText:
        return compile_text(expressions_.bytes(node), next);
      case Kind::kCharacters:
        return compile_characters(id, next);
      case Kind::kToken:
        return add({Op::kToken, node.first, 0, next});
      case Kind::kSequence: {
        const auto parts = expressions_.children(node);
        for (size_t i = parts.size(); i-- > 0;) next = compile(parts[i], next);
        return next;
      }
      case Kind::kChoice:
        return compile_choice(node, next);
      case Kind::kRepeat:
        return compile_repeat(expressions_.children(node)[0], node.min, node.max, next);
      case Kind::kRule:
        return add({Op::kCall, node.first, 0, next});
      case Kind::kUntil:
        return compile_search(expressions_.bytes(node), next, std::nullopt);
      case Kind::kWithout:
        return compile_search(expressions_.bytes(node), std::nullopt, next);
    }
    return next;
  }

  Address compile_text(std::string_view bytes, Address next) {
    for (size_t i = bytes.size(); i-- > 0;) {
      const auto byte = static_cast<uint8_t>(bytes[i]);
      next = add_edges({{byte, byte, next}});
    }
    return next;
  }

  Address compile_characters(ExpressionId id, Address next) {
    const auto [known, is_new] = characters_.try_emplace({id, next}, 0);
    if (!is_new) return known->second;
    const auto sequences = utf8_sequences(expressions_.ranges(expressions_.node(id)));
    std::map<std::vector<uint64_t>, Address> shared;
    const Address begin = compile_sequences(sequences, 0, next, shared);
    characters_[{id, next}] = begin;
    return begin;
  }

  // The bytes from `depth` on of sequences that agree before it. Equal rests become one instruction.
  Address compile_sequences(std::span<const ByteSequence> sequences, size_t depth, Address next,
                            std::map<std::vector<uint64_t>, Address>& shared) {
    std::vector<Edge> edges;
    if (depth >= kMaxUtf8Bytes) return next;
    for (size_t i = 0; i < sequences.size();) {
      const ByteRange range = sequences[i].ranges[depth];
      size_t end = i + 1;
      while (end < sequences.size() && sequences[end].ranges[depth] == range) ++end;
      const bool last = sequences[i].size == depth + 1;
      edges.push_back(
          {range.first, range.last,
           last ? next : compile_sequences(sequences.subspan(i, end - i), depth + 1, next, shared)});
      i = end;
    }
    std::vector<uint64_t> key;
    for (const Edge& edge : edges) key.push_back(uint64_t{edge.next} << 16 | edge.first << 8 | edge.last);
    const auto [known, is_new] = shared.try_emplace(std::move(key), 0);
    if (is_new) known->second = add_edges(std::move(edges));
    return known->second;
  }

  Address compile_choice(const Node& node, Address next) {
    std::vector<Address> targets;
    std::vector<Edge> merged;
    std::bitset<256> taken;
    for (const ExpressionId alternative : expressions_.children(node)) {
      const Address at = compile(alternative, next);
      if (!merge(at, merged, taken)) targets.push_back(at);
    }
    if (!merged.empty()) targets.push_back(add_edges(std::move(merged)));
    return targets.size() == 1 ? targets[0] : add_split(targets);
  }

  // Takes the edges at `at` into a common instruction when no byte is in both.
  bool merge(Address at, std::vector<Edge>& merged, std::bitset<256>& taken) const {
    const Instruction& instruction = program_.code[at];
    if (instruction.op != Op::kEdges) return false;
    const auto edges = std::span(program_.edges).subspan(instruction.first, instruction.count);
    std::bitset<256> bytes;
    for (const Edge& edge : edges) {
      for (unsigned byte = edge.first; byte <= edge.last; ++byte) bytes.set(byte);
    }
    if ((bytes & taken).any()) return false;
    taken |= bytes;
    merged.insert(merged.end(), edges.begin(), edges.end());
    return true;
  }

  // Instructions, roughly; exact enough above kMaxUnrolled.
  uint64_t size_of(ExpressionId id) const {
    const Node& node = expressions_.node(id);
    uint64_t size = std::max<uint64_t>(node.count, 1);
    if (node.kind == Kind::kRepeat) {
      const uint64_t body = size_of(expressions_.children(node)[0]);
      const uint64_t copies = copies_of(node.min, node.max);
      return is_unrolled(copies, body) ? copies * body : body + 1;
    }
    if (node.kind == Kind::kSequence || node.kind == Kind::kChoice) {
      for (const ExpressionId child : expressions_.children(node)) {
        size += size_of(child);
        if (size > kMaxUnrolled) break;
      }
    }
    return size;
  }

  static uint64_t copies_of(uint32_t min, uint32_t max) {
    return std::max<uint64_t>(max == kUnbounded ? min : max, 1);
  }
  static bool is_unrolled(uint64_t copies, uint64_t body) {
    return copies == 1 || (copies <= kMaxUnrolled && copies * body <= kMaxUnrolled);
  }

  Address compile_repeat(ExpressionId body, uint32_t min, uint32_t max, Address next) {
    if (max == kUnbounded && min <= 1) return compile_loop(body, min, next);
    if (is_unrolled(copies_of(min, max), size_of(body))) {
      if (max == kUnbounded) {
        Address at = compile_loop(body, 1, next);
        for (uint32_t i = 1; i < min; ++i) at = compile(body, at);
        return at;
      }
      Address at = next;
      for (uint32_t left = max; left > 0; --left) {
        at = compile(body, at);
        if (left > min) at = add_split(std::vector<Address>{at, next});
      }
      return at;
    }
    const Address begin = compile(body, end_);
    return add({Op::kRepeat, begin, 0, next, min, max});
  }

  Address compile_loop(ExpressionId body, uint32_t min, Address next) {
    const Address again = add_split(std::vector<Address>{next, next});
    const Address begin = compile(body, again);
    program_.targets[program_.code[again].first] = begin;
    return min == 0 ? again : begin;
  }

  // Knuth, Morris and Pratt's automaton of a mark: state i has seen its first i bytes. Goes on at found when
  // the mark is whole; in every other state also at ended, where given.
  Address compile_search(std::string_view mark, std::optional<Address> found, std::optional<Address> ended) {
    std::vector<size_t> fall(mark.size(), 0);
    for (size_t i = 1, k = 0; i < mark.size(); ++i) {
      while (k > 0 && mark[i] != mark[k]) k = fall[k - 1];
      if (mark[i] == mark[k]) ++k;
      fall[i] = k;
    }
    const auto after = [&](size_t state, uint8_t byte) {
      while (state > 0 && static_cast<uint8_t>(mark[state]) != byte) state = fall[state - 1];
      return state + (static_cast<uint8_t>(mark[state]) == byte ? 1 : 0);
    };
    std::vector<Address> states(mark.size());
    for (Address& state : states) {
      const Address consume = add({Op::kEdges});
      state = ended ? add_split(std::vector<Address>{consume, *ended}) : consume;
    }
    for (size_t state = 0; state < mark.size(); ++state) {
      std::vector<Edge> edges;
      for (unsigned byte = 0; byte < 256; ++byte) {
        const size_t to = after(state, static_cast<uint8_t>(byte));
        if (to == mark.size() && !found) continue;
        const Address next = to == mark.size() ? *found : states[to];
        if (!edges.empty() && edges.back().next == next && edges.back().last + 1u == byte)
          edges.back().last = static_cast<uint8_t>(byte);
        else
          edges.push_back({static_cast<uint8_t>(byte), static_cast<uint8_t>(byte), next});
      }
      Instruction& consume = program_.code[ended ? states[state] - 1 : states[state]];
      consume.first = static_cast<uint32_t>(program_.edges.size());
      consume.count = static_cast<uint32_t>(edges.size());
      program_.edges.insert(program_.edges.end(), edges.begin(), edges.end());
    }
    return states[0];
  }

  const Expressions& expressions_;
  const ProgramLimits& limits_;
  Program program_;
  Address end_ = 0;
  std::map<std::pair<ExpressionId, Address>, Address> characters_;
};

}  // namespace

Result<Program> compile_program(const Expressions& expressions, const std::bitset<256>& single_bytes,
                                const ProgramLimits& limits) {
  OXBOW_ASSIGN(Program program, Compiler(expressions, limits).run());
  const std::vector<uint32_t> empty = least_heights(program, {}, false);
  if (const auto rule = find_left_recursion(program, empty))
    return fail(ErrorKind::kInvalidInput, "rule '{}' begins with itself (left recursion)",
                expressions.rules()[*rule].name);
  for (Instruction& instruction : program.code) {
    if (instruction.op == Op::kRepeat && empty[instruction.first] != kNever) instruction.min = 0;
  }
  program.height = least_heights(program, std::bitset<256>().set(), true);
  if (program.height[program.rules[0]] == kNever)
    return fail(ErrorKind::kInvalidInput, "no text can satisfy the grammar: rule '{}' never ends",
                expressions.rules()[0].name);
  program.spellable.assign(program.code.size(), true);
  if (!single_bytes.all()) {
    const std::vector<uint32_t> by_tokens = least_heights(program, single_bytes, true);
    for (Address at = 0; at < program.code.size(); ++at) {
      program.spellable[at] = by_tokens[at] != kNever;
      if (program.spellable[at]) program.height[at] = by_tokens[at];
    }
    if (!program.spellable[program.rules[0]])
      return fail(ErrorKind::kInvalidInput,
                  "the model's vocabulary has no tokens for a byte that every text of rule '{}' needs",
                  expressions.rules()[0].name);
  }
  classify_bytes(program);
  return program;
}

}  // namespace oxbow::grammar
