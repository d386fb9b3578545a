#include "grammar/constraint.h"

#include "grammar/automaton.h"

namespace oxbow::grammar {

Constraint::Constraint(std::shared_ptr<const Grammar> grammar)
    : grammar_(std::move(grammar)), automaton_(grammar_->automaton()), configuration_(automaton_->start()) {}

const TokenMask& Constraint::mask() {
  if (!mask_) {
    if (ended_) {
      auto end = std::make_shared<TokenMask>(grammar_->vocabulary().size());
      for (const TokenId id : grammar_->vocabulary().end_tokens()) end->allow(id);
      mask_ = std::move(end);
    } else {
      leave_full_automaton();
      mask_ = automaton_->mask(configuration_);
    }
  }
  return *mask_;
}

Status Constraint::accept(TokenId token) {
  const GrammarVocabulary& vocabulary = grammar_->vocabulary();
  if (vocabulary.is_end(token)) {
    if (!may_end()) return fail(ErrorKind::kInvalidInput, "the text may not end here");
    if (!ended_) mask_.reset();
    ended_ = true;
    return {};
  }
  leave_full_automaton();
  const ConfigurationId to = ended_ ? kDead : automaton_->step(configuration_, token);
  if (to == kDead) return fail(ErrorKind::kInvalidInput, "token {} does not fit the grammar here", token);
  configuration_ = to;
  mask_.reset();
  return {};
}

bool Constraint::is_complete() const {
  return ended_ || automaton_->is_final(configuration_);
}

bool Constraint::may_end() const {
  return ended_ || automaton_->accepts(configuration_);
}

void Constraint::leave_full_automaton() {
  if (!automaton_->is_full()) return;
  auto fresh = grammar_->automaton(automaton_);
  configuration_ = fresh->import(*automaton_, configuration_);
  automaton_ = std::move(fresh);
}

}  // namespace oxbow::grammar
