#pragma once
// Parts of masks that many configurations share.

#include "grammar/automaton.h"

namespace oxbow::grammar {

// Of a configuration whose threads have nothing below them: the tokens that do not leave it, and where in the
// tree of tokens the rest of a token may be read by what lies below.
struct Automaton::Local {
  TokenMask mask;
  std::vector<uint32_t> exits;  // nodes, ascending
  uint32_t need = 0;            // greatest depth and number of threads of the configurations on the way
  size_t most_threads = 0;
};

}  // namespace oxbow::grammar
