#pragma once
// A grammar as what the sampler asks.

#include <memory>

#include "engine/constraint.h"
#include "grammar/grammar.h"

namespace oxbow::engine {

// At the beginning of the text.
std::unique_ptr<Constraint> make_constraint(std::shared_ptr<const grammar::Grammar> grammar);

}  // namespace oxbow::engine
