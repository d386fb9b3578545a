#pragma once
// The chat format of a model: which template, with which settings, how an answer begins and ends in it, and
// where its messages begin.

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_prompt.h"

namespace oxbow::text {

// How messages become a prompt, as a person chose it.
struct ChatChoices {
  struct Template {
    std::string name, text;
  };
  std::optional<std::string> chat_template;  // its text, or the name of a built-in one or of one in the file
  std::optional<Template> other_template;    // one that was read elsewhere; name: for messages
  std::string arguments;                     // a JSON object; empty: none
  std::optional<bool> think;                 // nothing: as the template does by itself
};

// What is rendered. Pointers may be null, but for messages, and must live through the call.
struct ChatInput {
  const nlohmann::ordered_json* messages = nullptr;  // array of objects with role and content
  const nlohmann::ordered_json* tools = nullptr;
  const nlohmann::ordered_json* documents = nullptr;
  const nlohmann::ordered_json* arguments = nullptr;  // object; wins over those of the choices
  bool add_generation_prompt = true;                  // the beginning of the next answer at the end
};

// Immutable; any number of threads at once. Keeps references to the tokenizer.
class ChatFormat {
 public:
  // Called with what a person would not expect, at most once per choose().
  using Remark = std::function<void(bool is_warning, const std::string& text)>;

  // The template that the choices name, else the file's, else ChatML. Errors name the option or the file and
  // what else could be tried.
  static Result<ChatFormat> choose(const ChatChoices& choices, const gguf::File& file,
                                   const Tokenizer& tokenizer, const Remark& remark = {});

  // A conversation up to the beginning of the next answer. messages: an array of objects with role and
  // content. Errors say what the template does not take and what could be done.
  Result<ChatText> render(const nlohmann::ordered_json& messages) const;
  // The same with everything a template may see.
  Result<ChatText> render(const ChatInput& input) const;
  // The last message, an assistant's with text as its content, is not closed: the answer goes on behind its
  // last character. kUnsupported when the template does not write that text.
  Result<ChatText> render_open(const ChatInput& input) const;
  // The tokens of chat.text from byte `from` on. Nothing when the text cannot be cut there without changing
  // them.
  std::optional<std::vector<TokenId>> encode(const ChatText& chat, size_t from) const;

  // What ends an answer besides the vocabulary's own end tokens: a control token, or a text where the
  // format's marks are no tokens of the vocabulary.
  std::optional<TokenId> stop_token() const { return stop_token_; }
  std::string_view stop_text() const { return stop_text_; }
  // The control token with which messages begin, where the format has one.
  std::optional<TokenId> message_start() const { return message_start_; }
  const std::string& source() const { return source_; }  // the template's text
  const ChatTemplate& chat_template() const { return template_; }

 private:
  ChatFormat(const Tokenizer& tokenizer, ChatTemplate chat_template, std::string source)
      : tokenizer_(&tokenizer), template_(std::move(chat_template)), source_(std::move(source)) {}

  Result<ChatText> render_unexplained(const ChatInput& input) const;
  void find_marks();
  void find_end_of_answers(std::string_view rendered, size_t answer_end);
  void find_message_start(std::string_view rendered, size_t answer_end);
  Status set_arguments(const ChatChoices& choices, const Remark& remark);

  const Tokenizer* tokenizer_;
  ChatTemplate template_;
  std::string source_;
  nlohmann::ordered_json arguments_ = nlohmann::ordered_json::object();
  std::optional<TokenId> stop_token_, message_start_;
  std::string stop_text_;
};

// What a model file says about its chat format.
enum class ChatSupport {
  kTemplate,  // it carries a template
  kChatMl,    // no template, but ChatML's tokens
  kNone,      // nothing: it completes text
};
ChatSupport chat_support(const gguf::File& file, const Vocabulary& vocabulary);

// Positions in the tokens of a rendered conversation at which other conversations are likely to part from it:
// where its last `messages` messages begin, the prompt of the answer included, and, near its end, before and
// after the control tokens, because templates render a last turn otherwise than the ones before it.
// Ascending, within (0, tokens.size()).
std::vector<size_t> message_boundaries(const ChatFormat& format, const Vocabulary& vocabulary,
                                       std::span<const TokenId> tokens, size_t messages);

}  // namespace oxbow::text
