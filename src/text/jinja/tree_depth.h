#pragma once
// How deep the trees below an expression node are: what keeps walking them by recursion safe.

#include <algorithm>

#include "text/jinja/syntax.h"

namespace oxbow::text::jinja {

inline unsigned depth_of(const ExpressionPtr& e) {
  return e != nullptr ? e->depth : 0;
}
inline unsigned depth_of(const std::vector<ExpressionPtr>& all) {
  unsigned depth = 0;
  for (const auto& e : all) depth = std::max(depth, depth_of(e));
  return depth;
}
inline unsigned depth_of(const ArgumentNodes& a) {
  unsigned depth = std::max({depth_of(a.positional), depth_of(a.spread), depth_of(a.named_spread)});
  for (const auto& [name, e] : a.named) depth = std::max(depth, depth_of(e));
  return depth;
}
inline unsigned depth_of(const Constant&) {
  return 0;
}
inline unsigned depth_of(const Name&) {
  return 0;
}
inline unsigned depth_of(const SequenceLiteral& n) {
  return depth_of(n.items);
}
inline unsigned depth_of(const DictLiteral& n) {
  unsigned depth = 0;
  for (const auto& [key, value] : n.entries) depth = std::max({depth, depth_of(key), depth_of(value)});
  return depth;
}
inline unsigned depth_of(const Unary& n) {
  return depth_of(n.operand);
}
inline unsigned depth_of(const Binary& n) {
  return std::max(depth_of(n.left), depth_of(n.right));
}
inline unsigned depth_of(const Logic& n) {
  return std::max(depth_of(n.left), depth_of(n.right));
}
inline unsigned depth_of(const Comparison& n) {
  unsigned depth = depth_of(n.first);
  for (const auto& [op, e] : n.rest) depth = std::max(depth, depth_of(e));
  return depth;
}
inline unsigned depth_of(const Concatenation& n) {
  return depth_of(n.parts);
}
inline unsigned depth_of(const Conditional& n) {
  return std::max({depth_of(n.condition), depth_of(n.then), depth_of(n.otherwise)});
}
inline unsigned depth_of(const Attribute& n) {
  return depth_of(n.object);
}
inline unsigned depth_of(const Subscript& n) {
  return std::max(depth_of(n.object), depth_of(n.index));
}
inline unsigned depth_of(const Slice& n) {
  return std::max({depth_of(n.object), depth_of(n.start), depth_of(n.stop), depth_of(n.step)});
}
inline unsigned depth_of(const Call& n) {
  return std::max(depth_of(n.callee), depth_of(n.arguments));
}
inline unsigned depth_of(const FilterCall& n) {
  return std::max(depth_of(n.operand), depth_of(n.arguments));
}
inline unsigned depth_of(const TestCall& n) {
  return std::max(depth_of(n.operand), depth_of(n.arguments));
}

}  // namespace oxbow::text::jinja
