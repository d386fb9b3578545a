#include "grammar/expressions.h"

#include <algorithm>

namespace oxbow::grammar {

namespace {

constexpr char32_t kLastCharacter = 0x10FFFF;
constexpr char32_t kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;  // no characters
// Atoms of a sequence: bytes, or expressions above them.
constexpr uint64_t kFirstExpressionAtom = 256;
// Alternatives that share beginnings within beginnings deeper than this stay as they are.
constexpr int kMaxFactorDepth = 100;

template <typename T>
void append_key(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

std::vector<CharacterRange> normalized(std::vector<CharacterRange> ranges) {
  std::vector<CharacterRange> apart;
  for (const auto& [first, last] : ranges) {
    if (first < kFirstSurrogate) apart.push_back({first, std::min<char32_t>(last, kFirstSurrogate - 1)});
    if (last > kLastSurrogate) apart.push_back({std::max<char32_t>(first, kLastSurrogate + 1), last});
  }
  std::erase_if(apart, [](const CharacterRange& range) { return range.first > range.last; });
  std::ranges::sort(apart, {}, &CharacterRange::first);
  std::vector<CharacterRange> merged;
  for (const auto& range : apart) {
    if (!merged.empty() && range.first <= merged.back().last + 1)
      merged.back().last = std::max(merged.back().last, range.last);
    else
      merged.push_back(range);
  }
  return merged;
}

std::vector<CharacterRange> complement(std::span<const CharacterRange> ranges) {
  std::vector<CharacterRange> rest;
  char32_t next = 0;
  for (const auto& [first, last] : ranges) {
    if (first > next) rest.push_back({next, first - 1});
    next = last + 1;
  }
  if (next <= kLastCharacter) rest.push_back({next, kLastCharacter});
  return normalized(std::move(rest));
}

ExpressionId Expressions::add(Node node, std::string key) {
  const auto [place, is_new] = known_.try_emplace(std::move(key), static_cast<ExpressionId>(nodes_.size()));
  if (is_new) nodes_.push_back(node);
  return place->second;
}

ExpressionId Expressions::add_bytes(Kind kind, std::string_view bytes) {
  std::string key(1, static_cast<char>(kind));
  key += bytes;
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const Node node{kind, static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(bytes.size()), 0, 0};
  bytes_ += bytes;
  return add(node, std::move(key));
}

ExpressionId Expressions::text(std::string_view bytes) {
  return bytes.empty() ? empty() : add_bytes(Kind::kText, bytes);
}

ExpressionId Expressions::until(std::string_view mark) {
  return add_bytes(Kind::kUntil, mark);
}

ExpressionId Expressions::without(std::string_view mark) {
  return add_bytes(Kind::kWithout, mark);
}

ExpressionId Expressions::characters(std::vector<CharacterRange> ranges) {
  ranges = normalized(std::move(ranges));
  std::string key(1, static_cast<char>(Kind::kCharacters));
  for (const auto& range : ranges) append_key(key, range);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const Node node{Kind::kCharacters, static_cast<uint32_t>(ranges_.size()),
                  static_cast<uint32_t>(ranges.size()), 0, 0};
  ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
  return add(node, std::move(key));
}

ExpressionId Expressions::token(TokenId id) {
  std::string key(1, static_cast<char>(Kind::kToken));
  append_key(key, id);
  return add({Kind::kToken, static_cast<uint32_t>(id), 0, 0, 0}, std::move(key));
}

ExpressionId Expressions::rule(RuleId id) {
  std::string key(1, static_cast<char>(Kind::kRule));
  append_key(key, id);
  return add({Kind::kRule, id, 0, 0, 0}, std::move(key));
}

ExpressionId Expressions::add_children(Kind kind, std::span<const ExpressionId> children) {
  std::string key(1, static_cast<char>(kind));
  for (const ExpressionId child : children) append_key(key, child);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const Node node{kind, static_cast<uint32_t>(children_.size()), static_cast<uint32_t>(children.size()), 0,
                  0};
  const std::vector<ExpressionId> copy(children.begin(), children.end());  // may lie in children_
  children_.insert(children_.end(), copy.begin(), copy.end());
  return add(node, std::move(key));
}

ExpressionId Expressions::nothing() {
  return add_children(Kind::kChoice, {});
}

ExpressionId Expressions::repeat(ExpressionId body, uint32_t min, uint32_t max) {
  if (max == 0) return empty();
  if (min == 1 && max == 1) return body;
  std::string key(1, static_cast<char>(Kind::kRepeat));
  append_key(key, body);
  append_key(key, min);
  append_key(key, max);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const Node node{Kind::kRepeat, static_cast<uint32_t>(children_.size()), 1, min, max};
  children_.push_back(body);
  return add(node, std::move(key));
}

void Expressions::append_atoms(ExpressionId id, std::vector<uint64_t>& atoms) {
  const Node node = nodes_[id];
  if (node.kind == Kind::kText) {
    for (const char byte : bytes(node)) atoms.push_back(static_cast<uint8_t>(byte));
  } else if (node.kind == Kind::kSequence) {
    // Parts of a sequence are never sequences themselves.
    for (const ExpressionId part : children(node)) append_atoms(part, atoms);
  } else {
    atoms.push_back(kFirstExpressionAtom + id);
  }
}

ExpressionId Expressions::from_atoms(std::span<const uint64_t> atoms) {
  std::vector<ExpressionId> parts;
  for (size_t i = 0; i < atoms.size();) {
    std::string run;
    for (; i < atoms.size() && atoms[i] < kFirstExpressionAtom; ++i) run += static_cast<char>(atoms[i]);
    if (!run.empty()) parts.push_back(text(run));
    for (; i < atoms.size() && atoms[i] >= kFirstExpressionAtom; ++i)
      parts.push_back(static_cast<ExpressionId>(atoms[i] - kFirstExpressionAtom));
  }
  return parts.size() == 1 ? parts[0] : add_children(Kind::kSequence, parts);
}

ExpressionId Expressions::sequence(std::span<const ExpressionId> parts) {
  std::vector<uint64_t> atoms;
  for (const ExpressionId part : parts) append_atoms(part, atoms);
  return from_atoms(atoms);
}

ExpressionId Expressions::sequence(std::initializer_list<ExpressionId> parts) {
  return sequence(std::span(parts.begin(), parts.size()));
}

ExpressionId Expressions::choice(std::initializer_list<ExpressionId> alternatives) {
  return choice(std::span(alternatives.begin(), alternatives.size()));
}

ExpressionId Expressions::choice(std::span<const ExpressionId> alternatives) {
  if (alternatives.size() == 1) return alternatives[0];
  std::vector<std::vector<uint64_t>> atoms;
  atoms.reserve(alternatives.size());
  for (const ExpressionId alternative : alternatives) {
    append_atoms(alternative, atoms.emplace_back());
  }
  return factor({atoms.begin(), atoms.end()}, 0);
}

ExpressionId Expressions::factor(std::vector<std::span<const uint64_t>> alternatives, int depth) {
  struct Group {
    std::vector<std::span<const uint64_t>> members;
  };
  std::vector<Group> groups;
  std::unordered_map<uint64_t, size_t> by_first;
  constexpr uint64_t kEnd = ~uint64_t{0};
  for (const auto& alternative : alternatives) {
    const uint64_t first = alternative.empty() ? kEnd : alternative[0];
    const auto [place, is_new] = by_first.try_emplace(first, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].members.push_back(alternative);
  }
  std::vector<ExpressionId> results;
  for (auto& [members] : groups) {
    const auto& front = members.front();
    if (members.size() == 1 || front.empty()) {
      results.push_back(from_atoms(front));
      continue;
    }
    if (depth == kMaxFactorDepth) {
      for (const auto& member : members) results.push_back(from_atoms(member));
      continue;
    }
    size_t common = front.size();
    for (const auto& member : members)
      common =
          std::min(common, static_cast<size_t>(std::ranges::mismatch(front, member).in1 - front.begin()));
    const auto prefix = front.first(common);
    for (auto& member : members) member = member.subspan(common);
    results.push_back(sequence({from_atoms(prefix), factor(std::move(members), depth + 1)}));
  }
  if (results.size() == 1) return results[0];
  return add_children(Kind::kChoice, results);
}

RuleId Expressions::add_rule(std::string name) {
  const ExpressionId body = nothing();
  rules_.push_back({std::move(name), body, false});
  return static_cast<RuleId>(rules_.size() - 1);
}

void Expressions::define(RuleId id, ExpressionId body) {
  rules_[id].body = body;
  rules_[id].defined = true;
}

ExpressionId Expressions::named(std::string name, ExpressionId body) {
  const RuleId id = add_rule(std::move(name));
  define(id, body);
  return rule(id);
}

}  // namespace oxbow::grammar
