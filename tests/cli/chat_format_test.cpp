#include "cli/chat_format.h"

#include <gtest/gtest.h>

#include "gguf/writer.h"
#include "support/shared.h"

namespace oxbow::cli {
namespace {

using Json = nlohmann::ordered_json;

class ChatFormatTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto file = gguf::File::open(testing::source_path("tests/golden/granitehybrid-dense.gguf"));
    ASSERT_TRUE(file) << file.error().message;
    auto tokenizer = text::Tokenizer::from_gguf(*file);
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
    return ChatFormat::choose(choices, *file_, *tokenizer_, console_);
  }

  std::string text(const ChatChoices& choices = {}) {
    const auto format = choose(choices);
    if (!format) return "error: " + format.error().message;
    const auto chat = format->render({{{"role", "user"}, {"content", "Hi"}}});
    return chat ? chat->text : "error: " + chat.error().message;
  }

  Console console_;
  std::vector<std::byte> bytes_;
  std::optional<gguf::File> file_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
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

}  // namespace
}  // namespace oxbow::cli
