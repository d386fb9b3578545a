// GBNF: whatever it is, it gives a grammar whose masks lead on, or an error that says something.

#include <cstdint>

#include "grammar_support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace oxbow::grammar;
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const auto grammar = Grammar::from_gbnf(source, small_vocabulary());
  if (!grammar) {
    OXBOW_CHECK(!grammar.error().message.empty());
    return 0;
  }
  for (uint64_t seed = 0; seed < 2; ++seed) OXBOW_CHECK(walk(*grammar, seed, 20) == walk(*grammar, seed, 20));
  return 0;
}
