#pragma once
// Grammars as rules of expressions: what GBNF and JSON schemas are turned into, and programs are compiled
// from.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar/token_mask.h"

namespace oxbow::grammar {

using ExpressionId = uint32_t;
using RuleId = uint32_t;

inline constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();

// Characters from first to last, both included.
struct CharacterRange {
  char32_t first, last;
};
// Sorted, apart and without surrogates.
std::vector<CharacterRange> normalized(std::vector<CharacterRange> ranges);
// All other characters. ranges: normalized.
std::vector<CharacterRange> complement(std::span<const CharacterRange> ranges);

// An arena of expressions, and the rules that name them. Equal expressions have equal ids. Expressions refer
// to older ones only; rules may refer to each other in any way.
class Expressions {
 public:
  enum class Kind : uint8_t {
    kText,        // bytes
    kCharacters,  // one character of a set
    kToken,       // one control token
    kSequence,    // one after the other; of none: the empty text
    kChoice,      // one of them; of none: no text at all
    kRepeat,      // min to max times
    kRule,        // what the rule says
    kUntil,       // any bytes up to a mark, and the mark
    kWithout,     // any bytes that do not contain a mark
  };

  ExpressionId text(std::string_view bytes);
  ExpressionId characters(std::vector<CharacterRange> ranges);
  ExpressionId token(TokenId id);
  ExpressionId sequence(std::span<const ExpressionId> parts);
  ExpressionId sequence(std::initializer_list<ExpressionId> parts);
  // Common beginnings are taken together, so that long lists of texts cost little while they are read.
  ExpressionId choice(std::span<const ExpressionId> alternatives);
  ExpressionId choice(std::initializer_list<ExpressionId> alternatives);
  ExpressionId repeat(ExpressionId body, uint32_t min, uint32_t max);
  ExpressionId optional(ExpressionId body) { return repeat(body, 0, 1); }
  ExpressionId rule(RuleId id);
  // The mark must not be empty.
  ExpressionId until(std::string_view mark);
  ExpressionId without(std::string_view mark);
  ExpressionId empty() { return sequence({}); }
  ExpressionId nothing();

  // The first rule is where texts begin. A rule that is never defined accepts nothing.
  RuleId add_rule(std::string name);
  void define(RuleId id, ExpressionId body);
  // add_rule and define.
  ExpressionId named(std::string name, ExpressionId body);

  struct Node {
    Kind kind;
    uint32_t first, count;  // of bytes, ranges or children; kToken, kRule: first is the id
    uint32_t min, max;      // kRepeat
  };
  const Node& node(ExpressionId id) const { return nodes_[id]; }
  std::string_view bytes(const Node& node) const {
    return std::string_view(bytes_).substr(node.first, node.count);
  }
  std::span<const CharacterRange> ranges(const Node& node) const {
    return std::span(ranges_).subspan(node.first, node.count);
  }
  std::span<const ExpressionId> children(const Node& node) const {
    return std::span(children_).subspan(node.first, node.count);
  }
  struct Rule {
    std::string name;
    ExpressionId body;
    bool defined;
  };
  std::span<const Rule> rules() const { return rules_; }
  // A measure for limits: nodes, children, bytes and ranges.
  size_t size() const { return nodes_.size() + children_.size() + bytes_.size() + ranges_.size(); }

 private:
  struct Atoms;
  ExpressionId add(Node node, std::string key);
  ExpressionId add_bytes(Kind kind, std::string_view bytes);
  ExpressionId add_children(Kind kind, std::span<const ExpressionId> children);
  void append_atoms(ExpressionId id, std::vector<uint64_t>& atoms);
  ExpressionId from_atoms(std::span<const uint64_t> atoms);
  ExpressionId factor(std::vector<std::span<const uint64_t>> alternatives, int depth);

  std::vector<Node> nodes_;
  std::vector<ExpressionId> children_;
  std::string bytes_;
  std::vector<CharacterRange> ranges_;
  std::vector<Rule> rules_;
  std::unordered_map<std::string, ExpressionId> known_;
};

}  // namespace oxbow::grammar
