#include "text/chat_format.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gguf/writer.h"
#include "support/shared.h"

namespace oxbow::text {
namespace {

using Json = nlohmann::ordered_json;

class ChatFormatTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto file = gguf::File::open(testing::source_path("tests/golden/granitehybrid-dense.gguf"));
    ASSERT_TRUE(file) << file.error().message;
    auto tokenizer = Tokenizer::from_gguf(*file);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    tokenizer_ = std::move(*tokenizer);
    write({});
  }

  // The keys of the model file.
  void write(const std::vector<std::pair<std::string, std::string>>& keys) {
    gguf::Writer writer;
    for (const auto& [key, value] : keys) writer.add_string(key, value);
    bytes_ = *writer.bytes();
    file_ = *gguf::File::parse(bytes_, "model.gguf");
  }

  Result<ChatFormat> choose(const ChatChoices& choices = {}) {
    return ChatFormat::choose(choices, *file_, *tokenizer_);
  }

  std::string text(const ChatChoices& choices = {}) {
    const auto format = choose(choices);
    if (!format) return "error: " + format.error().message;
    const auto chat = format->render({{{"role", "user"}, {"content", "Hi"}}});
    return chat ? chat->text : "error: " + chat.error().message;
  }

  std::vector<std::byte> bytes_;
  std::optional<gguf::File> file_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(ChatFormatTest, TakesTheChoiceThenTheFileThenChatMl) {
  EXPECT_EQ(text(), "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  write({{"tokenizer.chat_template", "[{{ messages[0].content }}]"}, {"tokenizer.chat_template.rag", "rag"}});
  EXPECT_EQ(text(), "[Hi]");
  EXPECT_EQ(text({.chat_template = "rag"}), "rag");
  EXPECT_EQ(text({.chat_template = "{{ 1 + 1 }}"}), "2");
  EXPECT_EQ(text({.chat_template = "chatml"}), "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_TRUE(text({.chat_template = "none"}).find("rwkv-world, rag") != std::string::npos);
}

TEST_F(ChatFormatTest, ATemplateThatCannotBeReadNamesItsLineAndWhatToDo) {
  write({{"tokenizer.chat_template", "\n\n{% include 'x' %}"}});
  EXPECT_EQ(text(),
            "error: the model's chat template cannot be used: chat template: line 3: 'include' is not "
            "supported; another "
            "one can be given with --chat-template chatml or --chat-template-file FILE");
}

TEST_F(ChatFormatTest, ArgumentsReachTheTemplate) {
  const std::string source = "{{ enable_thinking }} {{ thinking }} {{ x }}";
  EXPECT_EQ(text({.chat_template = source}), "  ");
  EXPECT_EQ(text({.chat_template = source, .think = false}), "False False ");
  EXPECT_EQ(text({.chat_template = source, .arguments = R"({"x": [1], "thinking": "deep"})", .think = true}),
            "True deep [1]");
  for (const char* wrong : {"[1]", "{", "x", "1", "null"})
    EXPECT_TRUE(
        text({.chat_template = source, .arguments = wrong}).starts_with("error: --chat-template-kwargs"))
        << wrong;
}

TEST_F(ChatFormatTest, FindsWhatEndsAnAnswer) {
  const auto end_of = [&](const std::string& source) -> std::string {
    const auto format = choose({.chat_template = source});
    if (!format) return format.error().message;
    if (format->stop_token())
      return "token " + std::string(tokenizer_->vocabulary().token_text(*format->stop_token()));
    return "text " + std::string(format->stop_text());
  };
  EXPECT_EQ(end_of("chatml"), "text ");
  EXPECT_EQ(end_of("{% for m in messages %}{{ m.content }}<|im_start|>{% endfor %}"), "token <|im_start|>");
  EXPECT_EQ(end_of("llama3"), "text <|eot_id|><|start_header_id|>user<|end_header_id|>");
  EXPECT_EQ(end_of("rwkv-world"), "text \n\nUser:");
  EXPECT_EQ(end_of("{% for m in messages %}{{ m.content }}\n{% endfor %}"), "text ");
  EXPECT_EQ(end_of("{% for m in messages %}{{ m.content }}|{% endfor %}"), "text ");
  EXPECT_EQ(end_of("{{ raise_exception('never') }}"), "text ");
  EXPECT_EQ(end_of("{% for m in messages %}{% if loop.index > 2 %}{{ raise_exception('two') }}{% endif %}{{ "
                   "m.content }} END\n"
                   "{% endfor %}"),
            "text  END");
}

TEST_F(ChatFormatTest, RefusedSystemMessagesAreToldFromOtherFaults) {
  const auto error_of = [&](const std::string& source) {
    const auto format = choose({.chat_template = source});
    const auto chat =
        format->render({{{"role", "system"}, {"content", "S"}}, {{"role", "user"}, {"content", "U"}}});
    return chat ? chat->text : chat.error().message;
  };
  EXPECT_NE(error_of("{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}")
                .find("takes no system message"),
            std::string::npos);
  EXPECT_EQ(error_of("{{ raise_exception('no') }}").find("system message"), std::string::npos);
}

TEST_F(ChatFormatTest, AnOpenLastMessageGoesOnBehindItsLastCharacter) {
  const Json messages = {{{"role", "user"}, {"content", "Hi"}},
                         {{"role", "assistant"}, {"content", "Sure: <|im_end|> "}}};
  const auto format = choose();
  const auto chat = format->render_open({.messages = &messages});
  ASSERT_TRUE(chat) << chat.error().message;
  EXPECT_EQ(chat->text, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nSure: <|im_end|> ");
  const auto tokens = *format->encode(*chat, 0);
  EXPECT_EQ(std::ranges::count(tokens, *tokenizer_->vocabulary().find("<|im_end|>")), 1);
  const auto silent = choose({.chat_template = "{{ messages[0].content }}"});
  EXPECT_EQ(silent->render_open({.messages = &messages}).error().kind, ErrorKind::kUnsupported);
}

TEST_F(ChatFormatTest, ARequestsArgumentsWinOverTheChoices) {
  const auto format =
      choose({.chat_template = "{{ x }} {{ y }} {{ tools }}", .arguments = R"({"x": 1, "y": 2})"});
  const Json messages = Json::array(), arguments = {{"y", 3}}, tools = Json::array({"t"});
  const auto chat = format->render({.messages = &messages, .tools = &tools, .arguments = &arguments});
  EXPECT_EQ(chat->text, "1 3 ['t']");
}

TEST_F(ChatFormatTest, BoundariesStandWhereTheLastMessagesBegin) {
  const auto format = choose();
  EXPECT_EQ(format->message_start(), tokenizer_->vocabulary().find("<|im_start|>"));
  Json messages = Json::array();
  for (int i = 0; i < 5; ++i) {
    messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"},
                        {"content", std::string(300, 'x') + " and <|im_start|> as text"}});
  }
  const auto tokens = *format->encode(*format->render(messages), 0);
  std::vector<size_t> starts;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] == format->message_start()) starts.push_back(i);
  ASSERT_EQ(starts.size(), 6u);  // with the prompt of the answer
  const auto boundaries = message_boundaries(*format, tokenizer_->vocabulary(), tokens, 3);
  for (size_t i = 3; i < 6; ++i) EXPECT_TRUE(std::ranges::count(boundaries, starts[i]) == 1) << i;
  EXPECT_EQ(std::ranges::count(boundaries, starts[2]), 0);
  EXPECT_TRUE(std::ranges::is_sorted(boundaries));
  EXPECT_TRUE(std::ranges::adjacent_find(boundaries) == boundaries.end());
  EXPECT_LT(boundaries.back(), tokens.size());
  EXPECT_TRUE(message_boundaries(*format, tokenizer_->vocabulary(), {}, 3).empty());
}

}  // namespace
}  // namespace oxbow::text
