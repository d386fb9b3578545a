// Masks over real vocabularies: microseconds per mask of random answers, p50 and p99.
//
//   oxbow_grammar_bench VOCABULARY.gguf...

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "gguf/file.h"
#include "grammar/constraint.h"

namespace oxbow::grammar {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

const char* const kSchema = R"({"type":"object","properties":{"name":{"type":"string","maxLength":200},
  "age":{"type":"integer","minimum":0,"maximum":150},"tags":{"type":"array","items":{"type":"string"},"maxItems":20},
  "address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"},
  "zip":{"type":"string","pattern":"^[0-9]{5}$"}},"required":["street","city"]},
  "kind":{"enum":["person","company","other"]}},"required":["name","age","tags","address","kind"]})";

// One random answer of at most 400 tokens; times of its masks are added to `times`.
void answer(const Grammar::Pointer& grammar, std::mt19937& random, std::vector<double>& times) {
  Constraint constraint(grammar);
  for (int step = 0; step < 400 && !constraint.is_complete(); ++step) {
    const auto begin = Clock::now();
    const TokenMask& mask = constraint.mask();
    times.push_back(microseconds_since(begin));
    std::vector<TokenId> ids;
    for (size_t i = 0; i < mask.size(); ++i) {
      if (mask.allows(static_cast<TokenId>(i))) ids.push_back(static_cast<TokenId>(i));
    }
    const auto quote = grammar->vocabulary().find("\"");
    const bool end = step % 6 == 5 && quote && mask.allows(*quote);
    if (ids.empty() || !constraint.accept(end ? *quote : ids[random() % ids.size()])) return;
  }
}

void measure(const char* path) {
  const auto file = gguf::File::open(path);
  if (!file) return fmt::print("{}: {}\n", path, file.error().message);
  const auto tokenizer = text::Tokenizer::from_gguf(*file);
  if (!tokenizer) return fmt::print("{}: {}\n", path, tokenizer.error().message);
  const auto vocabulary = std::make_shared<GrammarVocabulary>(**tokenizer);
  auto begin = Clock::now();
  vocabulary->tree();
  fmt::print("{}: {} tokens, tree {:.0f} ms\n", path, vocabulary->size(), microseconds_since(begin) / 1000);
  for (const bool any : {true, false}) {
    begin = Clock::now();
    const auto grammar = any ? Grammar::any_json_object(vocabulary)
                             : Grammar::from_json_schema(nlohmann::ordered_json::parse(kSchema), vocabulary);
    const double compile = microseconds_since(begin);
    std::mt19937 random(1);
    std::vector<double> first, all;
    answer(*grammar, random, first);
    for (int i = 0; i < 50; ++i) answer(*grammar, random, all);
    const auto at = [](std::vector<double>& times, double share) {
      std::ranges::sort(times);
      return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
    };
    fmt::print(
        "  {}: compile {:.0f} us; first answer ({} masks) p50 {:.1f} p99 {:.1f} max {:.0f} us; "
        "50 more ({} masks) p50 {:.2f} p99 {:.1f} max {:.0f} us\n",
        any ? "any object" : "schema", compile, first.size(), at(first, 0.5), at(first, 0.99), at(first, 1),
        all.size(), at(all, 0.5), at(all, 0.99), at(all, 1));
  }
}

}  // namespace
}  // namespace oxbow::grammar

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) oxbow::grammar::measure(arguments[i]);
}
