#include "cli/conversation.h"

#include <gtest/gtest.h>

#include "cli/chat_commands.h"
#include "support/shared.h"

namespace oxbow::cli {
namespace {

class ConversationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto file = gguf::File::open(testing::source_path("tests/golden/granitehybrid-dense.gguf"));
    ASSERT_TRUE(file) << file.error().message;
    auto tokenizer = text::Tokenizer::from_gguf(*file);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    tokenizer_ = std::move(*tokenizer);
  }

  Conversation conversation(std::string system = {}) {
    return Conversation(ChatFormat(*tokenizer_), std::move(system));
  }

  void answer(Conversation& talk, const std::string& text) {
    talk.set_answer(tokenizer_->encode(text, {.add_special = false, .parse_special = false}), text);
  }

  std::unique_ptr<text::Tokenizer> tokenizer_;
};

TEST_F(ConversationTest, HasTheTokensThatTheFormatGivesForTheWholeConversation) {
  Conversation talk = conversation("Be kind.");
  talk.ask("Hello");
  answer(talk, "Hi there");
  talk.ask("Who are you?");
  const std::vector<text::Message> messages = {
      {"system", "Be kind."}, {"user", "Hello"}, {"assistant", "Hi there"}, {"user", "Who are you?"}};
  // The answer's own tokens are kept, so its text must encode the same on its own for this comparison.
  EXPECT_EQ(tokenizer_->decode(talk.tokens(), true),
            tokenizer_->decode(text::encode_chat(*tokenizer_, messages, true).tokens, true));
}

TEST_F(ConversationTest, EachTurnBeginsWithAllTokensOfTheOneBefore) {
  Conversation talk = conversation();
  talk.ask("one");
  const auto first = talk.tokens();
  answer(talk, "two");
  const auto answered = talk.tokens();
  talk.ask("three");
  const auto second = talk.tokens();
  EXPECT_TRUE(std::equal(first.begin(), first.end(), answered.begin()));
  EXPECT_TRUE(std::equal(answered.begin(), answered.end(), second.begin()));
  EXPECT_LT(answered.size(), second.size());
}

TEST_F(ConversationTest, UndoAndAnotherAnswerLeaveTheOldTurnsInTheTree) {
  Conversation talk = conversation();
  talk.ask("one");
  const auto asked = talk.tokens();
  answer(talk, "1");
  ASSERT_TRUE(talk.ask_again());
  EXPECT_EQ(talk.tokens(), asked);
  answer(talk, "uno");
  ASSERT_TRUE(talk.undo());
  EXPECT_EQ(talk.current(), 0u);
  EXPECT_FALSE(talk.undo());
  EXPECT_FALSE(talk.ask_again());
  ASSERT_TRUE(talk.back());
  EXPECT_EQ(talk.current(), 2u);
  ASSERT_TRUE(talk.back());
  EXPECT_EQ(talk.turn(talk.current()).answer_text, "1");
  EXPECT_FALSE(talk.back());
  EXPECT_FALSE(talk.go_to(3));
  ASSERT_TRUE(talk.go_to(2));
  talk.ask("two");
  EXPECT_EQ(talk.describe(), (std::vector<std::string>{"    1    one", "    2    one", "*   3    two"}));
}

TEST_F(ConversationTest, AQuestionThatWasNotAnsweredCanBeTakenBack) {
  Conversation talk = conversation();
  talk.ask("one");
  answer(talk, "1");
  const auto before = talk.tokens();
  talk.ask("two");
  talk.take_back();
  EXPECT_EQ(talk.tokens(), before);
  ASSERT_TRUE(talk.ask_again());
  talk.take_back();
  EXPECT_EQ(talk.tokens(), before);
  EXPECT_EQ(talk.turn_count(), 1u);
  talk.clear();
  EXPECT_EQ(talk.turn_count(), 0u);
  talk.take_back();
  EXPECT_EQ(talk.current(), 0u);
}

TEST_F(ConversationTest, TheSystemMessageCountsForAllTurns) {
  Conversation talk = conversation();
  talk.ask("one");
  talk.set_system("Be brief.");
  EXPECT_NE(tokenizer_->decode(talk.tokens(), true).find("system\nBe brief."), std::string::npos);
}

TEST(ChatCommands, AreKnownByNameAndKeepTheirArgument) {
  EXPECT_EQ(parse_chat_line("/help").action, ChatAction::kHelp);
  EXPECT_EQ(parse_chat_line("/?").action, ChatAction::kHelp);
  EXPECT_EQ(parse_chat_line("/bye").action, ChatAction::kExit);
  const auto system = parse_chat_line("/system  be kind ");
  EXPECT_EQ(system.action, ChatAction::kSystem);
  EXPECT_EQ(system.argument, "be kind");
  EXPECT_EQ(parse_chat_line("/branch 3").argument, "3");
}

TEST(ChatCommands, OtherLinesAreMessages) {
  for (const char* line : {"hello", "/usr/bin/env what is it?", "/", "a /help", "//"}) {
    EXPECT_EQ(parse_chat_line(line).action, ChatAction::kMessage) << line;
  }
  const auto unknown = parse_chat_line("/hlep");
  EXPECT_EQ(unknown.action, ChatAction::kUnknown);
  EXPECT_EQ(unknown.argument, "/help");
}

TEST(ChatCommands, TabCompletesThem) {
  EXPECT_EQ(complete_chat_line("/re"), (std::vector<std::string>{"/regen", "/read"}));
  EXPECT_TRUE(complete_chat_line("hello").empty());
  EXPECT_EQ(complete_chat_line("/read " + testing::source_path("CMakeL")),
            std::vector<std::string>{"/read " + testing::source_path("CMakeLists.txt")});
}

}  // namespace
}  // namespace oxbow::cli
