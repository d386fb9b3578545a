#include "engine/grammar_constraint.h"

#include "grammar/constraint.h"

namespace oxbow::engine {
namespace {

class GrammarConstraint : public Constraint {
 public:
  explicit GrammarConstraint(grammar::Constraint state) : state_(std::move(state)) {}

  std::unique_ptr<Constraint> clone() const override { return std::make_unique<GrammarConstraint>(state_); }
  std::span<const uint32_t> mask() override { return state_.mask().words(); }
  Status accept(memory::TokenId token) override { return state_.accept(token); }
  bool is_complete() const override { return state_.is_complete(); }

 private:
  grammar::Constraint state_;
};

}  // namespace

std::unique_ptr<Constraint> make_constraint(std::shared_ptr<const grammar::Grammar> grammar) {
  return std::make_unique<GrammarConstraint>(grammar::Constraint(std::move(grammar)));
}

}  // namespace oxbow::engine
