#pragma once
// Constrained decoding of one sequence: the mask of tokens that keep its text within a grammar.
//
//   Constraint constraint(grammar);          // when the answer begins
//   loop: sampler takes constraint.mask(); constraint.accept(token); stop when constraint.is_complete()

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "grammar/grammar.h"
#include "grammar/token_mask.h"

namespace oxbow::grammar {

class Automaton;

// Where one sequence stands in a grammar. A copy is a fork and costs two counted references. One thread at a
// time per object; different objects of one grammar may be used by different threads.
class Constraint {
 public:
  // At the beginning of the text.
  explicit Constraint(std::shared_ptr<const Grammar> grammar);

  // The tokens that may come next. At least one, unless is_complete(): from every text that the masks lead
  // to, the grammar's end can be reached. End-of-generation tokens are allowed exactly where the text may
  // end. Which tokens are allowed depends on the grammar, the vocabulary and the text so far, never on other
  // sequences or on what was asked before. Lives until the next call on this object. The first call builds
  // the vocabulary's tree (tens of milliseconds per 100,000 tokens, once per vocabulary).
  const TokenMask& mask();

  // Moves on. Errors: kInvalidInput for a token that mask() forbids; then nothing changes.
  Status accept(TokenId token);

  // Nothing can follow: an end-of-generation token was accepted, or the text is whole and cannot be
  // continued. mask() then allows the end-of-generation tokens alone.
  bool is_complete() const;
  // The text so far is one of the grammar's texts.
  bool may_end() const;

  const std::shared_ptr<const Grammar>& grammar() const { return grammar_; }

 private:
  void leave_full_automaton();

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<Automaton> automaton_;
  uint32_t configuration_;
  bool ended_ = false;
  std::shared_ptr<const TokenMask> mask_;  // of configuration_; null until asked for
};

}  // namespace oxbow::grammar
