#include "engine/session_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "engine/harness.h"
#include "engine/session.h"

namespace oxbow::engine {
namespace {

using oxbow::testing::load_model;
using oxbow::testing::some_tokens;
using oxbow::testing::source_path;

class SessionFile : public ::testing::Test {
 protected:
  void SetUp() override {
    model_ = load_model(source_path("tests/golden/granitehybrid-dense.gguf"));
    directory_ = std::filesystem::temp_directory_path() / ("oxbow-session-" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory_);
    path_ = (directory_ / "talk.oxbow").string();
    engine_ = make_engine();
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<Engine> make_engine(memory::KvTypes kv = {}, size_t budget = size_t{256} << 20) {
    EngineOptions options;
    options.threads = 2;
    options.max_step_tokens = 64;
    options.budget_bytes = budget;
    options.first_checkpoint = 32;
    options.kv = kv;
    auto engine = Engine::create(model_, options);
    EXPECT_TRUE(engine) << engine.error().message;
    return std::move(*engine);
  }

  std::vector<float> fresh_logits(std::span<const TokenId> tokens) {
    auto engine = make_engine();
    Session session(*engine, 4096);
    EXPECT_TRUE(session.prompt(tokens));
    return {session.logits().begin(), session.logits().end()};
  }

  std::string bytes() {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }

  std::shared_ptr<const model::Model> model_;
  std::unique_ptr<Engine> engine_;
  std::filesystem::path directory_;
  std::string path_;
};

TEST_F(SessionFile, ContinuesWithTheSameBitsInANewProcess) {
  std::vector<TokenId> tokens = some_tokens(150, model_->vocabulary(), 3);
  Session session(*engine_, 4096);
  ASSERT_TRUE(session.prompt(tokens));
  ASSERT_TRUE(session.save(path_, "the text")) << "save";
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);

  auto other = make_engine();
  Session again(*other, 4096);
  auto restored = again.restore(path_);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->text, "the text");
  EXPECT_EQ(restored->tokens, tokens);
  EXPECT_EQ(restored->restored, 150U);
  EXPECT_EQ(restored->recompute_reason, "");
  for (TokenId token : some_tokens(20, model_->vocabulary(), 9)) tokens.push_back(token);
  auto prompt = again.prompt(tokens);
  ASSERT_TRUE(prompt);
  EXPECT_EQ(prompt->reused, 150U);
  EXPECT_EQ(std::vector<float>(again.logits().begin(), again.logits().end()), fresh_logits(tokens));
}

TEST_F(SessionFile, CarriesTheCheckpointsOfItsTurns) {
  const std::vector<TokenId> tokens = some_tokens(300, model_->vocabulary(), 4);
  const size_t boundaries[] = {100, 200};
  Session session(*engine_, 4096);
  ASSERT_TRUE(session.prompt(tokens, {}, boundaries));
  ASSERT_TRUE(session.save(path_, ""));
  auto other = make_engine();
  Session again(*other, 4096);
  ASSERT_TRUE(again.restore(path_));
  std::vector<TokenId> edited(tokens.begin(), tokens.begin() + 100);
  for (TokenId token : some_tokens(30, model_->vocabulary(), 5)) edited.push_back(token);
  auto prompt = again.prompt(edited);
  ASSERT_TRUE(prompt);
  EXPECT_EQ(prompt->reused, 100U);
  EXPECT_EQ(std::vector<float>(again.logits().begin(), again.logits().end()), fresh_logits(edited));
}

TEST_F(SessionFile, OfOtherSettingsGivesItsTokensAndSaysWhyTheyAreEvaluatedAgain) {
  const std::vector<TokenId> tokens = some_tokens(90, model_->vocabulary(), 4);
  Session session(*engine_, 4096);
  ASSERT_TRUE(session.prompt(tokens));
  ASSERT_TRUE(session.save(path_, "kept"));
  auto other = make_engine(oxbow::testing::kFloatKv);
  Session again(*other, 4096);
  auto restored = again.restore(path_);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->tokens, tokens);
  EXPECT_EQ(restored->text, "kept");
  EXPECT_EQ(restored->restored, 0U);
  EXPECT_NE(restored->recompute_reason.find("other numeric settings"), std::string::npos);
}

TEST_F(SessionFile, DamagedFilesAreRefusedAndChangeNothing) {
  const std::vector<TokenId> tokens = some_tokens(70, model_->vocabulary(), 4);
  Session session(*engine_, 4096);
  ASSERT_TRUE(session.prompt(tokens));
  ASSERT_TRUE(session.save(path_, "text"));
  const std::string good = bytes();
  const size_t used = engine_->memory().pool().used_bytes();
  for (size_t i = 0; i < good.size(); i += 1 + good.size() / 197) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    write(bad);
    auto restored = session.restore(path_);
    ASSERT_FALSE(restored) << "byte " << i;
    EXPECT_NE(restored.error().message.find(path_), std::string::npos) << restored.error().message;
    write(good.substr(0, i));
    ASSERT_FALSE(session.restore(path_)) << "cut at " << i;
  }
  EXPECT_EQ(engine_->memory().pool().used_bytes(), used);
  ASSERT_EQ(session.tokens().size(), 70U);
  write(good);
  EXPECT_TRUE(session.restore(path_));
}

TEST_F(SessionFile, ThatDoesNotFitTheBudgetIsEvaluatedAgain) {
  const std::vector<TokenId> tokens = some_tokens(1500, model_->vocabulary(), 4);
  Session session(*engine_, 4096);
  ASSERT_TRUE(session.prompt(tokens));
  ASSERT_TRUE(session.save(path_, ""));
  const size_t scratch = model_->scratch_bytes(64, 1, 2) + model_->vocabulary() * sizeof(float);
  auto small = make_engine({}, scratch + 60'000);
  Session again(*small, 4096);
  auto restored = again.restore(path_);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->restored, 0U);
  EXPECT_NE(restored->recompute_reason.find("memory budget"), std::string::npos);
  EXPECT_EQ(restored->tokens.size(), 1500U);
}

TEST_F(SessionFile, MissingAndForeignFilesAreNamed) {
  Session session(*engine_, 4096);
  auto missing = session.restore(path_);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
  write("not a container");
  auto foreign = session.restore(path_);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().kind, ErrorKind::kInvalidInput);
  EXPECT_FALSE(session.save((directory_ / "no" / "such.oxbow").string(), ""));
}

}  // namespace
}  // namespace oxbow::engine
