// Times a conversation of ten turns as its user feels it: seconds from a prompt to the logits of its last
// token, in turn ten, after regenerating, editing, forking and a restart, each beside a cold run.
// tools/peer/turns.mjs does the same with llama.cpp. Also what keeping checkpoints costs prompts that nobody
// repeats.
//
//   oxbow_turns MODEL.gguf [--threads 2] [--repeat 3] [--unique 0]
//
// Prints one JSON object: medians in seconds, tokens reused, bytes.

#include <fmt/format.h>
#include <stdlib.h>  // mkdtemp

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/session.h"
#include "store/disk_store.h"

namespace oxbow {
namespace {

using engine::Engine;
using engine::Session;
using memory::TokenId;

constexpr size_t kContext = 4096;
constexpr size_t kSystem = 200, kUser = 150, kAnswer = 100;

// Ends the program with the message of an error.
template <typename T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}\n", result.error().message);
  std::exit(1);
}
void must(const Status& status) {
  if (status) return;
  fmt::print(stderr, "{}\n", status.error().message);
  std::exit(1);
}

double wall() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double processor() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Made-up tokens; tools/peer/turns.mjs makes the same.
void add_message(std::vector<TokenId>& prompt, size_t count, size_t seed) {
  for (size_t i = 0; i < count; ++i)
    prompt.push_back(static_cast<TokenId>(3 + ((i + 1) * 2654435761 + seed * 40503 * (i + 7)) % 997 % 200));
}

// The conversation up to the user's message of turn `turn`, counted from one. `variant` says how that message
// differs from the first one written.
std::vector<TokenId> conversation(size_t turn, size_t round, size_t variant = 0) {
  std::vector<TokenId> prompt;
  add_message(prompt, kSystem, 1 + round * 1000);
  for (size_t t = 1; t <= turn; ++t) {
    add_message(prompt, kUser, 10 + 2 * t + round * 1000 + (t == turn ? variant * 100 : 0));
    if (t < turn) add_message(prompt, kAnswer, 11 + 2 * t + round * 1000);
  }
  return prompt;
}

std::vector<size_t> message_ends(size_t tokens) {
  std::vector<size_t> ends;
  for (size_t at = kSystem; at < tokens; at += kUser + kAnswer) {
    ends.push_back(at);
    if (at + kUser < tokens) ends.push_back(at + kUser);
  }
  return ends;
}

struct Timed {
  double seconds = 0;
  size_t tokens = 0, reused = 0;
};

Timed time_prompt(Session& session, const std::vector<TokenId>& prompt) {
  const double start = wall();
  const auto result = must(session.prompt(prompt, {}, message_ends(prompt.size())));
  return {wall() - start, prompt.size(), result.reused};
}

void answer(Session& session, size_t turn, size_t round) {
  std::vector<TokenId> tokens;
  add_message(tokens, kAnswer, 11 + 2 * turn + round * 1000);
  for (const TokenId token : tokens) must(session.append(token));
  must(session.keep());
}

struct Rows {
  std::map<std::string, std::vector<Timed>> timed;
  void add(const std::string& name, const Timed& value) { timed[name].push_back(value); }
  std::string json() const {
    std::string out;
    for (const auto& [name, values] : timed) {
      std::vector<double> seconds;
      for (const Timed& value : values) seconds.push_back(value.seconds);
      out += fmt::format(",\"{}\":{{\"seconds\":{:.4f},\"tokens\":{},\"reused\":{}}}", name, median(seconds),
                         values[0].tokens, values[0].reused);
    }
    return out;
  }
};

class Turns {
 public:
  Turns(std::shared_ptr<const model::Model> model, int threads, std::string directory)
      : model_(std::move(model)), threads_(threads), directory_(std::move(directory)) {}

  void round(size_t round) {
    {
      const auto engine = start(true);
      Session session(*engine, kContext);
      for (size_t turn = 1; turn <= 10; ++turn) {
        const Timed timed = time_prompt(session, conversation(turn, round));
        if (turn == 10) rows_.add("turn_10", timed);
        answer(session, turn, round);
      }
      rows_.add("regenerate", time_prompt(session, conversation(10, round)));
      answer(session, 10, round);
      {
        Session fork(*engine, kContext);
        rows_.add("fork", time_prompt(fork, conversation(10, round, 2)));
      }
      rows_.add("edit", time_prompt(session, conversation(7, round, 1)));
      const memory::MemoryUse use = engine->memory().use();
      checkpoints_ = use.checkpoints;
      checkpoint_bytes_ = use.checkpoint_bytes;
    }
    {
      const auto engine = start(true);
      Session session(*engine, kContext);
      rows_.add("restart", time_prompt(session, conversation(11, round)));
    }
    const auto engine = start(false);
    const auto cold = [&](const char* name, const std::vector<TokenId>& prompt) {
      Session session(*engine, kContext);
      rows_.add(name, time_prompt(session, prompt));
      engine->memory().evict(SIZE_MAX);
    };
    cold("cold_turn_10", conversation(10, round));
    cold("cold_edit", conversation(7, round, 1));
    cold("cold_turn_11", conversation(11, round));
  }

  // Prompts that nobody repeats, with and without checkpoints, in turns: the share of processor time that
  // checkpoints add.
  std::string unique(size_t prompts) {
    const auto on = start(false), off = start(false, 0);
    double with = 0, without = 0;
    for (size_t i = 0; i < prompts; ++i) {
      std::vector<TokenId> prompt;
      add_message(prompt, 512, 5000 + i);
      const auto timed_with = [&] {
        const double begin = processor();
        Session session(*on, kContext);
        (void)must(session.prompt(prompt, {}, message_ends(prompt.size())));
        for (size_t n = 0; n < 16; ++n) must(session.append(static_cast<TokenId>(5 + n)));
        must(session.keep());
        with += processor() - begin;
      };
      const auto timed_without = [&] {
        const double begin = processor();
        const memory::SequenceId sequence = off->memory().create();
        const engine::StepEntry whole{sequence, prompt, engine::Outputs::kLast};
        (void)must(off->step({&whole, 1}));
        for (size_t n = 0; n < 16; ++n) {
          const TokenId token = static_cast<TokenId>(5 + n);
          const engine::StepEntry one{sequence, {&token, 1}, engine::Outputs::kLast};
          (void)must(off->step({&one, 1}));
        }
        must(off->memory().drop(sequence));
        without += processor() - begin;
      };
      if (i % 2 == 0) {
        timed_with();
        timed_without();
      } else {
        timed_without();
        timed_with();
      }
    }
    return fmt::format(
        ",\"unique\":{{\"prompts\":{},\"cpu_seconds_on\":{:.3f},\"cpu_seconds_off\":{:.3f},\"overhead\":{:."
        "4f}}}",
        prompts, with, without, with / without - 1);
  }

  std::string json() const {
    return rows_.json() + fmt::format(",\"checkpoints\":{},\"checkpoint_bytes\":{},\"state_bytes\":{}",
                                      checkpoints_, checkpoint_bytes_,
                                      start(false)->memory().layout().state_bytes());
  }

 private:
  std::unique_ptr<Engine> start(bool with_disk, size_t first_checkpoint = 256) const {
    engine::EngineOptions options;
    options.threads = threads_;
    options.budget_bytes = size_t{3} << 30;
    options.first_checkpoint = first_checkpoint;
    auto engine = must(Engine::create(model_, options));
    if (with_disk) {
      stores::DiskOptions disk;
      disk.directory = directory_;
      engine->add_store(must(stores::DiskStore::open(disk)));
    }
    return engine;
  }

  std::shared_ptr<const model::Model> model_;
  int threads_;
  std::string directory_;
  Rows rows_;
  size_t checkpoints_ = 0, checkpoint_bytes_ = 0;
};

int run(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: oxbow_turns MODEL.gguf [--threads 2] [--repeat 3] [--unique 0]\n");
    return 2;
  }
  size_t threads = 2, repeat = 3, unique = 0;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const size_t value = std::strtoul(argv[i + 1], nullptr, 10);
    if (flag == "--threads") threads = value;
    if (flag == "--repeat") repeat = value;
    if (flag == "--unique") unique = value;
  }
  const std::string path = argv[1];
  ThreadPool pool(static_cast<int>(threads));
  auto file = std::make_shared<const gguf::File>(must(gguf::File::open(path)));
  std::shared_ptr<const model::Model> model = must(model::Model::load(file, pool));
  std::string directory = (std::filesystem::temp_directory_path() / "oxbow-turns-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return 1;
  Turns turns(model, static_cast<int>(threads), directory);
  for (size_t r = 0; r < repeat; ++r) turns.round(r);
  std::string out =
      fmt::format("{{\"model\":\"{}\",\"threads\":{}", path.substr(path.rfind('/') + 1), threads);
  out += turns.json();
  if (unique > 0) out += turns.unique(unique);
  fmt::print("{}}}\n", out);
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace oxbow

int main(int argc, char** argv) {
  return oxbow::run(argc, argv);
}
