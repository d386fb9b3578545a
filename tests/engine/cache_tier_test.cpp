#include "engine/cache_tier.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/harness.h"
#include "engine/session.h"
#include "store/disk_store.h"

namespace oxbow::engine {
namespace {

using oxbow::testing::load_model;
using oxbow::testing::some_tokens;
using oxbow::testing::source_path;

class DiskTier : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    model_ = load_model(source_path("tests/golden/" + GetParam() + ".gguf"));
    directory_ =
        std::filesystem::temp_directory_path() / ("oxbow-tier-" + std::to_string(::getpid()) + GetParam());
    std::filesystem::remove_all(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<Engine> make_engine(bool tier = true) {
    EngineOptions options;
    options.threads = 2;
    options.max_step_tokens = 256;
    options.budget_bytes = size_t{512} << 20;
    auto engine = Engine::create(model_, options);
    EXPECT_TRUE(engine) << engine.error().message;
    if (tier) {
      auto store = stores::DiskStore::open({.directory = directory_.string()});
      EXPECT_TRUE(store) << store.error().message;
      (*engine)->add_store(std::move(*store));
    }
    return std::move(*engine);
  }

  std::vector<TokenId> tokens(size_t count, uint64_t seed) const {
    return some_tokens(count, model_->vocabulary(), seed);
  }

  std::vector<float> fresh_logits(std::span<const TokenId> prompt) {
    auto engine = make_engine(false);
    Session session(*engine, 1 << 16);
    EXPECT_TRUE(session.prompt(prompt));
    return {session.logits().begin(), session.logits().end()};
  }

  std::shared_ptr<const model::Model> model_;
  std::filesystem::path directory_;
};

TEST_P(DiskTier, APromptIsFoundAgainAfterARestartWithTheSameBits) {
  const std::vector<TokenId> prompt = tokens(2600, 1);  // two segments and a tail
  {
    auto engine = make_engine();
    Session session(*engine, 1 << 16);
    ASSERT_TRUE(session.prompt(prompt));
    ASSERT_TRUE(session.keep());
  }
  auto engine = make_engine();
  Session session(*engine, 1 << 16);
  std::vector<TokenId> longer = prompt;
  for (const TokenId token : tokens(30, 2)) longer.push_back(token);
  const auto result = session.prompt(longer);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->reused, prompt.size());
  EXPECT_EQ(std::vector<float>(session.logits().begin(), session.logits().end()), fresh_logits(longer));
  EXPECT_EQ(engine->tiers()[0]->statistics().refused, 0U);
}

TEST_P(DiskTier, PartitionsStayApart) {
  const std::vector<TokenId> prompt = tokens(300, 1);
  {
    auto engine = make_engine();
    Session session(*engine, 4096, "alice");
    ASSERT_TRUE(session.prompt(prompt));
  }
  auto engine = make_engine();
  Session bob(*engine, 4096, "bob");
  EXPECT_EQ(bob.prompt(prompt)->reused, 0U);
  Session alice(*engine, 4096, "alice");
  EXPECT_EQ(alice.prompt(prompt)->reused, prompt.size() - 1);
}

TEST_P(DiskTier, DamagedFilesAreMissesAndTheAnswerIsRight) {
  const std::vector<TokenId> prompt = tokens(1500, 1);
  {
    auto engine = make_engine();
    Session session(*engine, 4096);
    ASSERT_TRUE(session.prompt(prompt));
  }
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
    if (!entry.is_regular_file() || entry.file_size() < 200) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(entry.file_size() / 2));
    file.put('x');
    file.put('y');
    ++files;
  }
  ASSERT_GT(files, 0U);
  auto engine = make_engine();
  Session session(*engine, 4096);
  const auto result = session.prompt(prompt);
  ASSERT_TRUE(result);
  EXPECT_EQ(std::vector<float>(session.logits().begin(), session.logits().end()), fresh_logits(prompt));
}

INSTANTIATE_TEST_SUITE_P(Models, DiskTier,
                         ::testing::Values("granitehybrid-dense", "gemma3", "mamba2", "qwen35moe"),
                         [](const auto& model) { return oxbow::testing::test_name(model.param); });

}  // namespace
}  // namespace oxbow::engine
