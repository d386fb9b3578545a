#pragma once
// A grammar as the engine's constraint.

#include <memory>

#include "engine/constraint.h"
#include "grammar/constraint.h"

namespace oxbow::server {

// A constraint at the beginning of an answer.
std::unique_ptr<engine::Constraint> make_constraint(std::shared_ptr<const grammar::Grammar> grammar);

}  // namespace oxbow::server
