// Bytes per second of encoding and decoding with real vocabularies from the shared folder (OXBOW_SHARED, else
// ../shared). The text is the file that OXBOW_BENCH_TEXT names, else made of English words; OXBOW_BENCH_TEXT
// is what a claim of speed should be measured with, because made-up text repeats itself more than real text
// does.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "gguf/file.h"
#include "text/tokenizer.h"

namespace oxbow::text {
namespace {

std::string shared_path(const std::string& file) {
  const char* shared = std::getenv("OXBOW_SHARED");
  return std::string(shared != nullptr ? shared : "../shared") + "/tokenizers/ggml-vocab-" + file + ".gguf";
}

std::string made_up_text(size_t size_bytes) {
  constexpr std::string_view kWords[] = {
      "the",   "river",  "moves",        "on",         "and",           "leaves",
      "a",     "lake",   "behind",       "which",      "keeps",         "its",
      "shape", "when",   "water",        "returns",    "memory",        "of",
      "every", "bend",   "nobody",       "remembers",  "however",       "slowly",
      "they",  "walked", "towards",      "evening",    "it's",          "don't",
      "1815",  "7",      "considerable", "impression", "understanding", "neighbourhood",
  };
  std::mt19937 random(1);
  std::string text;
  while (text.size() < size_bytes) {
    text.append(kWords[random() % std::size(kWords)]);
    const auto mark = random() % 16;
    text.append(mark == 0 ? ".\n" : mark < 3 ? ", " : " ");
  }
  return text;
}

const std::string& english_text() {
  static const std::string text = [] {
    const char* path = std::getenv("OXBOW_BENCH_TEXT");
    if (path == nullptr) return made_up_text(1 << 22);
    std::ifstream stream(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  }();
  return text;
}

std::unique_ptr<Tokenizer> open_tokenizer(benchmark::State& state, const std::string& name) {
  const auto file = gguf::File::open(shared_path(name));
  if (!file) {
    state.SkipWithError(file.error().message.c_str());
    return nullptr;
  }
  auto tokenizer = Tokenizer::from_gguf(*file);
  if (!tokenizer) {
    state.SkipWithError(tokenizer.error().message.c_str());
    return nullptr;
  }
  return std::move(*tokenizer);
}

void encode(benchmark::State& state, const std::string& name, const std::string& text) {
  const auto tokenizer = open_tokenizer(state, name);
  if (!tokenizer) return;
  std::vector<TokenId> tokens;
  for (auto _ : state) {
    tokens.clear();
    tokenizer->encode_to(text, {}, tokens);
    benchmark::DoNotOptimize(tokens.data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
  state.counters["bytes_per_token"] = static_cast<double>(text.size()) / static_cast<double>(tokens.size());
}

void english(benchmark::State& state, const std::string& name) {
  encode(state, name, english_text());
}

void short_prompt(benchmark::State& state, const std::string& name) {
  encode(state, name, english_text().substr(0, 400));
}

void one_letter(benchmark::State& state, const std::string& name) {
  encode(state, name, std::string(1 << 20, 'a'));
}

void decode(benchmark::State& state, const std::string& name) {
  const auto tokenizer = open_tokenizer(state, name);
  if (!tokenizer) return;
  const auto tokens = tokenizer->encode(english_text(), {});
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer->decode(tokens));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * english_text().size()));
}

void load(benchmark::State& state, const std::string& name) {
  for (auto _ : state) {
    const auto tokenizer = open_tokenizer(state, name);
    if (!tokenizer) return;
    benchmark::DoNotOptimize(tokenizer.get());
  }
}

#define OXBOW_TOKENIZER_BENCHMARKS(label, name)                                \
  BENCHMARK_CAPTURE(english, label, name)->Unit(benchmark::kMillisecond);      \
  BENCHMARK_CAPTURE(short_prompt, label, name)->Unit(benchmark::kMicrosecond); \
  BENCHMARK_CAPTURE(one_letter, label, name)->Unit(benchmark::kMillisecond);   \
  BENCHMARK_CAPTURE(decode, label, name)->Unit(benchmark::kMillisecond);       \
  BENCHMARK_CAPTURE(load, label, name)->Unit(benchmark::kMillisecond)

OXBOW_TOKENIZER_BENCHMARKS(gpt2, "gpt-2");
OXBOW_TOKENIZER_BENCHMARKS(falcon, "falcon");
OXBOW_TOKENIZER_BENCHMARKS(deepseek_llm, "deepseek-llm");
OXBOW_TOKENIZER_BENCHMARKS(llama_spm, "llama-spm");

}  // namespace
}  // namespace oxbow::text
