// Times whole steps on a GGUF file, with the tests and the output of tools/peer/bench.mjs, so that one run
// compares both engines: prompts into an empty sequence (ppN), single-token steps after a prompt (tgN@D), the
// same with several sequences together (tgN@DxP), and several tokens of one sequence in one step (vK@D).
// Tokens per second, median.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace oxbow {
namespace {

using engine::Engine;
using engine::Outputs;
using engine::StepEntry;
using memory::SequenceId;
using memory::TokenId;

struct Options {
  std::string model;
  int threads = 2;
  std::vector<size_t> prompts = {512};
  std::vector<size_t> parallel = {1};
  size_t generated = 64;
  size_t depth = 512;
  size_t verify = 0;
  size_t repeat = 3;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<TokenId> tokens(size_t count, size_t seed) {
  std::vector<TokenId> ids;
  for (size_t i = 0; i < count; ++i)
    ids.push_back(static_cast<TokenId>(3 + (i * 7919 + seed * 104729) % 200));
  return ids;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Ends the program with the message of an error.
template <typename T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}\n", result.error().message);
  std::exit(1);
}

void prompt(Engine& engine, SequenceId sequence, const std::vector<TokenId>& ids) {
  for (size_t done = 0; done < ids.size();) {
    const size_t count = std::min(engine.options().max_step_tokens, ids.size() - done);
    const StepEntry entry{sequence, std::span(ids).subspan(done, count), Outputs::kLast};
    must(engine.step({&entry, 1}));
    done += count;
  }
}

double time_prompt(Engine& engine, size_t count, size_t seed) {
  const SequenceId sequence = engine.memory().create();
  const double start = now();
  prompt(engine, sequence, tokens(count, seed));
  const double speed = static_cast<double>(count) / (now() - start);
  (void)engine.memory().drop(sequence);
  return speed;
}

TokenId best(std::span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double time_decode(Engine& engine, const Options& options, size_t parallel, size_t seed) {
  std::vector<SequenceId> sequences;
  for (size_t i = 0; i < parallel; ++i) {
    sequences.push_back(engine.memory().create());
    prompt(engine, sequences.back(), tokens(options.depth, seed * 64 + i));
  }
  std::vector<TokenId> next;
  for (size_t i = 0; i < parallel; ++i) next.push_back(static_cast<TokenId>(5 + i));
  const size_t vocabulary = engine.model().vocabulary();
  const double start = now();
  for (size_t n = 0; n < options.generated; ++n) {
    std::vector<StepEntry> entries;
    for (size_t i = 0; i < parallel; ++i) entries.push_back({sequences[i], {&next[i], 1}, Outputs::kLast});
    const auto logits = must(engine.step(entries));
    for (size_t i = 0; i < parallel; ++i) next[i] = best(logits.subspan(i * vocabulary, vocabulary));
  }
  const double speed = static_cast<double>(parallel * options.generated) / (now() - start);
  for (const SequenceId sequence : sequences) (void)engine.memory().drop(sequence);
  return speed;
}

double time_verify(Engine& engine, const Options& options) {
  const SequenceId sequence = engine.memory().create();
  prompt(engine, sequence, tokens(options.depth, 1));
  std::vector<double> speeds;
  for (size_t r = 0; r < 24; ++r) {
    const std::vector<TokenId> ids = tokens(options.verify, r);
    const StepEntry entry{sequence, ids, Outputs::kAll};
    const double start = now();
    must(engine.step({&entry, 1}));
    if (r > 2) speeds.push_back(static_cast<double>(options.verify) / (now() - start));
  }
  (void)engine.memory().drop(sequence);
  return median(speeds);
}

std::vector<size_t> numbers(const char* text) {
  std::vector<size_t> values;
  for (const char* at = text; *at != '\0';) {
    char* end = nullptr;
    values.push_back(std::strtoul(at, &end, 10));
    if (end == at) break;
    at = *end == ',' ? end + 1 : end;
  }
  return values;
}

Options parse(int argc, char** argv) {
  Options options;
  options.model = argc > 1 ? argv[1] : "";
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const std::vector<size_t> values = numbers(argv[i + 1]);
    const size_t value = values.empty() ? 0 : values[0];
    if (flag == "--threads") options.threads = static_cast<int>(value);
    if (flag == "--pp") options.prompts = values;
    if (flag == "--parallel") options.parallel = values;
    if (flag == "--tg") options.generated = value;
    if (flag == "--depth") options.depth = value;
    if (flag == "--verify") options.verify = value;
    if (flag == "--repeat") options.repeat = value;
  }
  return options;
}

int run(const Options& options) {
  ThreadPool pool(options.threads);
  double start = now();
  auto file = std::make_shared<const gguf::File>(must(gguf::File::open(options.model)));
  std::shared_ptr<const model::Model> model = must(model::Model::load(file, pool));
  std::string out =
      fmt::format("{{\"model\":\"{}\",\"threads\":{},\"load_s\":{:.3f}",
                  options.model.substr(options.model.rfind('/') + 1), options.threads, now() - start);
  engine::EngineOptions engine_options;
  engine_options.threads = options.threads;
  engine_options.max_outputs = std::max(*std::max_element(options.parallel.begin(), options.parallel.end()),
                                        std::max<size_t>(options.verify, 1));
  auto engine = must(Engine::create(model, engine_options));
  const auto report = [&](const std::string& name, auto&& time) {
    std::vector<double> speeds;
    for (size_t r = 0; r <= options.repeat; ++r) {
      const double speed = time(r);
      if (r > 0) speeds.push_back(speed);
    }
    out += fmt::format(",\"{}\":{:.2f}", name, median(speeds));
  };
  for (const size_t count : options.prompts) {
    report(fmt::format("pp{}", count), [&](size_t r) { return time_prompt(*engine, count, r); });
  }
  for (const size_t parallel : options.parallel) {
    const std::string suffix = parallel > 1 ? fmt::format("x{}", parallel) : "";
    report(fmt::format("tg{}@{}{}", options.generated, options.depth, suffix),
           [&](size_t r) { return time_decode(*engine, options, parallel, r); });
  }
  if (options.verify > 0) {
    out += fmt::format(",\"v{}@{}\":{:.2f}", options.verify, options.depth, time_verify(*engine, options));
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{},\"peak_mib\":{}}}\n", out, usage.ru_maxrss / 1024);
  return 0;
}

}  // namespace
}  // namespace oxbow

int main(int argc, char** argv) {
  const oxbow::Options options = oxbow::parse(argc, argv);
  if (options.model.empty()) {
    std::fprintf(stderr,
                 "usage: oxbow_engine_speed MODEL.gguf [--threads 2] [--pp 512,2048] [--tg 64] [--depth 512] "
                 "[--parallel 1,8] [--verify 9] [--repeat 3]\n");
    return 2;
  }
  return oxbow::run(options);
}
