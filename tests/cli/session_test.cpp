// Conversations in files: what is written, what is refused, and going on after a restart.

#include <gtest/gtest.h>

#include "cli/binary.h"
#include "cli/chat_choice.h"
#include "cli/conversation_json.h"
#include "cli/saved_sessions.h"
#include "support/shared.h"

namespace oxbow::cli {
namespace {

class SavedConversation : public ::testing::Test {
 protected:
  void SetUp() override {
    auto file = gguf::File::open(testing::source_path("tests/golden/granitehybrid-dense.gguf"));
    ASSERT_TRUE(file) << file.error().message;
    file_ = std::move(*file);
    auto tokenizer = text::Tokenizer::from_gguf(*file_);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    tokenizer_ = std::move(*tokenizer);
    Console console;
    auto format = choose_chat_format({.chat_template = "chatml"}, *file_, *tokenizer_, console);
    ASSERT_TRUE(format) << format.error().message;
    format_ = std::move(*format);
  }

  Conversation talk() {
    Conversation talk(*format_, "Be kind.");
    for (const char* question : {"One", "Two \xE2\x82\xAC \"quoted\"", "Three"}) {
      talk.ask(question);
      EXPECT_TRUE(talk.prompt());
      talk.set_answer(tokenizer_->encode("Yes.", {.add_special = false}), "Yes.");
      talk.set_cost(3, 4);
    }
    talk.go_to(1);
    return talk;
  }

  std::optional<gguf::File> file_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::optional<text::ChatFormat> format_;
};

TEST_F(SavedConversation, IsReadBackAsItWas) {
  const Conversation before = talk();
  Conversation after(*format_);
  const Status read = from_json(to_json(before), tokenizer_->vocabulary().size(), after);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(after), to_json(before));
  EXPECT_EQ(after.current(), 1U);
  EXPECT_EQ(after.system(), "Be kind.");
  EXPECT_EQ(after.describe(), before.describe());
  EXPECT_NE(after.describe()[0].find("(3 reused, 4 evaluated)"), std::string::npos);
}

TEST_F(SavedConversation, OfAnotherModelKeepsItsTextsOnly) {
  Conversation after(*format_);
  ASSERT_TRUE(from_json(to_json(talk()), 0, after));
  EXPECT_EQ(after.turn(2).question, "Two \xE2\x82\xAC \"quoted\"");
  EXPECT_EQ(after.turn(2).answer_text, "Yes.");
  EXPECT_TRUE(after.turn(2).prompt_tokens.empty());
  after.go_to(3);
  EXPECT_TRUE(after.ask_again());
  EXPECT_TRUE(after.prompt());
}

TEST_F(SavedConversation, WithAnythingWrongIsRefusedAndReplacesNothing) {
  const std::string good = to_json(talk());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::string bad[] = {
      "",
      "[]",
      "{}",
      good.substr(0, good.size() / 2),
      changed("\"version\":1", "\"version\":2"),
      changed("\"current\":1", "\"current\":4"),
      changed("\"current\":1", "\"current\":-1"),
      changed("\"parent\":0", "\"parent\":1"),
      changed("\"parent\":0", "\"parent\":\"0\""),
      changed("\"question\":\"One\"", "\"question\":1"),
      changed("\"answer_tokens\":[", "\"answer_tokens\":[99999,"),
      changed("\"answer_tokens\":[", "\"answer_tokens\":[-5,"),
      changed("\"answer_tokens\":[", "\"answer_tokens\":[1.5,"),
      changed("\"prompt_breaks\":[", "\"prompt_breaks\":[100000"),
      changed("\"turns\":[", "\"turns\":[null,"),
      std::string(100000, '['),
  };
  for (const std::string& text : bad) {
    Conversation after(*format_, "untouched");
    EXPECT_FALSE(from_json(text, tokenizer_->vocabulary().size(), after)) << text.substr(0, 200);
    EXPECT_EQ(after.system(), "untouched");
    EXPECT_EQ(after.turn_count(), 0U);
  }
}

TEST(SavedSessions, NamesAreFilesOfTheFolderAndPathsArePaths) {
  EXPECT_EQ(sessions_folder("/state", "/home/a"), "/state/oxbow/sessions");
  EXPECT_EQ(sessions_folder(nullptr, "/home/a"), "/home/a/.local/state/oxbow/sessions");
  EXPECT_EQ(sessions_folder("relative", nullptr), "");
  EXPECT_EQ(*session_path("talk", "/s"), "/s/talk.oxbow");
  EXPECT_EQ(*session_path("./talk", "/s"), "./talk");
  for (const char* bad : {"", ".", ".."}) EXPECT_FALSE(session_path(bad, "/s"));
  EXPECT_FALSE(session_path("talk", ""));
}

// ---- The program
// ---------------------------------------------------------------------------------------------

const std::string kModel = testing::source_path("tests/golden/granitehybrid-dense.gguf");

testing::ProgramRun run(std::vector<std::string> arguments, const testing::ProgramInput& input = {}) {
  const std::vector<std::string> first = {"run", "-m", kModel, "-t", "1",
                                          "-s",  "1",  "-n",   "6",  "--ignore-eos"};
  arguments.insert(arguments.begin(), first.begin(), first.end());
  return testing::run_program(arguments, input);
}

TEST(Program, ASessionFileGoesOnWhereTheLastRunStopped) {
  const testing::TemporaryFolder folder;
  const std::string session = folder.path("talk.oxbow");
  const auto first = run({"--session", session, "-p", "Hello there, how are you doing on this fine day?"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto second = run({"--session", session, "-p", "Again"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_NE(second.err.find("Restored"), std::string::npos) << second.err;
  EXPECT_NE(second.err.find("cached)"), std::string::npos) << second.err;
}

TEST(Program, ADamagedSessionIsRefusedAndStays) {
  const testing::TemporaryFolder folder;
  const std::string session = folder.path("talk.oxbow");
  ASSERT_EQ(run({"--session", session, "-p", "Hello"}).exit_code, 0);
  std::string bytes = testing::read_file(session);
  bytes[bytes.size() / 2] ^= 1;
  testing::write_file(session, bytes);
  const auto again = run({"--session", session, "-p", "Again"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_EQ(again.out, "");
  EXPECT_NE(again.err.find(session), std::string::npos) << again.err;
  EXPECT_EQ(testing::read_file(session), bytes);
}

TEST(Program, ASessionOfOtherSettingsIsEvaluatedAgainAndSaysSo) {
  const testing::TemporaryFolder folder;
  const std::string session = folder.path("talk.oxbow");
  ASSERT_EQ(run({"--session", session, "-p", "Hello"}).exit_code, 0);
  const auto again = run({"--session", session, "-p", "Again", "-ctk", "f32"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.err.find("other numeric settings"), std::string::npos) << again.err;
}

TEST(Program, ADiskTierRemembersPromptsOverRestarts) {
  const testing::TemporaryFolder folder;
  const std::string prompt =
      "A prompt that is long enough to be worth keeping: it has more than sixteen tokens, and it is asked "
      "twice.";
  const auto first = run({"--cache-disk", folder.path("cache"), "-p", prompt, "--json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_NE(first.out.find("\"reused\":0"), std::string::npos) << first.out;
  EXPECT_NE(first.out.find("\"miss\":\"cold\""), std::string::npos) << first.out;
  const auto second = run({"--cache-disk", folder.path("cache"), "-p", prompt, "--json"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(second.out.find("\"reused\":0"), std::string::npos) << second.out;
  const auto text = [](const std::string& json) { return json.substr(0, json.find("\"seconds\"")); };
  EXPECT_EQ(text(first.out).substr(0, text(first.out).find("\"tokens\"")),
            text(second.out).substr(0, text(second.out).find("\"tokens\"")));
}

}  // namespace
}  // namespace oxbow::cli
