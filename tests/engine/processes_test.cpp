// What one process has evaluated, another one finds: through Redis, and on a disk whose writer was killed.

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "engine/child.h"
#include "engine/crashing_disk.h"
#include "engine/harness.h"
#include "engine/session.h"
#include "store/redis_server.h"
#include "store/redis_store.h"

namespace oxbow::engine {
namespace {

using oxbow::testing::Child;
using oxbow::testing::CrashingDisk;
using oxbow::testing::load_model;
using oxbow::testing::some_tokens;
using oxbow::testing::source_path;
using stores::testing::RealRedis;

using MakeStore = std::function<std::unique_ptr<stores::BlobStore>()>;

struct Answer {
  size_t reused = 0;
  std::vector<float> logits;
};

std::string to_bytes(const Answer& answer) {
  std::string bytes(sizeof(size_t) + answer.logits.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), &answer.reused, sizeof(size_t));
  std::memcpy(bytes.data() + sizeof(size_t), answer.logits.data(), answer.logits.size() * sizeof(float));
  return bytes;
}

Answer from_bytes(const std::string& bytes) {
  Answer answer;
  if (bytes.size() < sizeof(size_t)) return answer;
  std::memcpy(&answer.reused, bytes.data(), sizeof(size_t));
  answer.logits.resize((bytes.size() - sizeof(size_t)) / sizeof(float));
  std::memcpy(answer.logits.data(), bytes.data() + sizeof(size_t), answer.logits.size() * sizeof(float));
  return answer;
}

class Processes : public ::testing::TestWithParam<std::string> {
 protected:
  std::string model_path() const { return source_path("tests/golden/" + GetParam() + ".gguf"); }

  std::unique_ptr<Engine> make_engine(const MakeStore& make_store) const {
    EngineOptions options;
    options.threads = 1;
    options.budget_bytes = size_t{256} << 20;
    auto engine = Engine::create(load_model(model_path()), options);
    if (!engine) throw std::runtime_error(engine.error().message);
    if (make_store) (*engine)->add_store(make_store());
    return std::move(*engine);
  }

  Answer answer(Engine& engine, std::span<const TokenId> prompt) const {
    Session session(engine, 1 << 16);
    const auto result = session.prompt(prompt);
    if (!result || !session.keep()) return {};
    return {result->reused, {session.logits().begin(), session.logits().end()}};
  }
  Answer answer(std::span<const TokenId> prompt, const MakeStore& make_store) const {
    return answer(*make_engine(make_store), prompt);
  }
  // The same in a process of its own, which writes what it kept before it ends.
  Answer answer_elsewhere(std::span<const TokenId> prompt, const MakeStore& make_store) const {
    Child child([&] { return to_bytes(answer(prompt, make_store)); });
    return from_bytes(child.finish());
  }

  std::vector<TokenId> tokens(size_t count, uint64_t seed) const {
    return some_tokens(count, load_model(model_path())->vocabulary(), seed);
  }
};

MakeStore redis(uint16_t port, std::string_view secret = {}) {
  return [port, secret = std::string(secret)]() -> std::unique_ptr<stores::BlobStore> {
    stores::RedisOptions options;
    options.server.port = port;
    for (const char c : secret) options.authentication_key.push_back(static_cast<std::byte>(c));
    return std::make_unique<stores::RedisStore>(std::move(options));
  };
}

TEST_P(Processes, ShareAPromptThroughRedisWithTheSameBits) {
  const auto server = RealRedis::start();
  OXBOW_NEEDS_REDIS(server);
  for (const std::string_view secret : {"", "a key of sixteen bytes or more"}) {
    SCOPED_TRACE(secret);
    const std::vector<TokenId> prompt = tokens(1500, secret.size() + 1);
    const MakeStore store = redis(server->port(), secret);
    EXPECT_EQ(answer_elsewhere(prompt, store).reused, 0U);
    std::vector<TokenId> longer = prompt;
    for (const TokenId token : tokens(20, 9)) longer.push_back(token);
    const Answer found = answer_elsewhere(longer, store);
    EXPECT_EQ(found.reused, prompt.size());
    EXPECT_EQ(found.logits, answer(longer, {}).logits);
    EXPECT_FALSE(found.logits.empty());
  }
}

TEST_P(Processes, WithAnotherKeyFindNothingAndAnswerRight) {
  const auto server = RealRedis::start();
  OXBOW_NEEDS_REDIS(server);
  const std::vector<TokenId> prompt = tokens(400, 1);
  const MakeStore ours = redis(server->port(), "a key of sixteen bytes or more");
  answer_elsewhere(prompt, ours);
  for (const std::string_view secret : {"", "another key, as long as that one"}) {
    const Answer other = answer_elsewhere(prompt, redis(server->port(), secret));
    EXPECT_EQ(other.reused, 0U);
    EXPECT_EQ(other.logits, answer(prompt, {}).logits);
  }
  EXPECT_EQ(answer_elsewhere(prompt, ours).reused, prompt.size() - 1);
}

TEST_P(Processes, AreKilledAtAnyMomentAndTheDiskStaysRight) {
  const CrashingDisk disk;
  const MakeStore store = [&] { return disk.open(); };
  size_t reused = 0;
  for (uint64_t round = 0; round < 6; ++round) {
    const std::vector<TokenId> prompt = tokens(1100, round % 2);
    {
      Child child([&] {
        const auto engine = make_engine(store);
        for (uint64_t i = 0; i < 50; ++i) answer(*engine, tokens(1100, i % 3));
        for (uint64_t i = 0; i < 10000; ++i) answer(*engine, tokens(100 + i % 300, 10 + i));
        return std::string();
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(40 + 45 * round));
      child.kill();
    }
    const Answer again = answer(prompt, store);
    ASSERT_EQ(again.logits, answer(prompt, {}).logits) << "round " << round;
    reused += again.reused;
  }
  EXPECT_GT(reused, 0U);
  for (const auto& path : disk.files())
    EXPECT_NE(path.extension(), ".tmp") << "the last start removes what the killed one left";
}

INSTANTIATE_TEST_SUITE_P(Models, Processes, ::testing::Values("granitehybrid-dense", "qwen35moe"),
                         [](const auto& model) { return oxbow::testing::test_name(model.param); });

}  // namespace
}  // namespace oxbow::engine
