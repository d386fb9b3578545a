// JSON schemas: whatever they are, they give a grammar whose masks lead on to JSON, or an error that says
// something.

#include <cstdint>
#include <nlohmann/json.hpp>

#include "grammar_support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace oxbow::grammar;
  using Json = nlohmann::ordered_json;
  size_t depth = 0;
  for (size_t i = 0; i < size; ++i) {
    if ((data[i] == '[' || data[i] == '{') && ++depth > 500) return 0;  // printing values recurses
  }
  const Json schema = Json::parse(data, data + size, nullptr, false);
  if (schema.is_discarded()) return 0;
  const auto grammar = Grammar::from_json_schema(schema, small_vocabulary());
  if (!grammar) {
    OXBOW_CHECK(!grammar.error().message.empty());
    return 0;
  }
  for (uint64_t seed = 0; seed < 2; ++seed) walk(*grammar, seed, 30);
  return 0;
}
