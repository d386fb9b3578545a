#pragma once
// The chat format of a session: which template, with which settings, and how an answer ends in it.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/options.h"
#include "text/chat_prompt.h"

namespace oxbow::cli {

// Immutable. Keeps references to the tokenizer.
class ChatFormat {
 public:
  // The template that the choices name, else the file's, else ChatML. Says on the console, once, what a
  // person would not expect. Errors name the option or the file and what else could be tried.
  static Result<ChatFormat> choose(const ChatChoices& choices, const gguf::File& file,
                                   const text::Tokenizer& tokenizer, Console& console);

  // A conversation up to the beginning of the next answer. messages: an array of objects with role and
  // content. Errors say what the template does not take and what could be done.
  Result<text::ChatText> render(const nlohmann::ordered_json& messages) const;
  // The tokens of chat.text from byte `from` on. Nothing when the text cannot be cut there without changing
  // them.
  std::optional<std::vector<TokenId>> encode(const text::ChatText& chat, size_t from) const;

  // What ends an answer besides the vocabulary's own end tokens: a control token, or a text where the
  // format's marks are no tokens of the vocabulary.
  std::optional<TokenId> stop_token() const { return stop_token_; }
  std::string_view stop_text() const { return stop_text_; }

 private:
  ChatFormat(const text::Tokenizer& tokenizer, text::ChatTemplate chat_template)
      : tokenizer_(&tokenizer), template_(std::move(chat_template)) {}

  Result<text::ChatText> render(const nlohmann::ordered_json& messages, bool add_generation_prompt) const;
  void find_end_of_answers();
  Status set_arguments(const ChatChoices& choices, Console& console);

  const text::Tokenizer* tokenizer_;
  text::ChatTemplate template_;
  nlohmann::ordered_json arguments_ = nlohmann::ordered_json::object();
  std::optional<TokenId> stop_token_;
  std::string stop_text_;
};

// What a model file says about its chat format.
enum class ChatSupport {
  kTemplate,  // it carries a template
  kChatMl,    // no template, but ChatML's tokens
  kNone,      // nothing: it completes text
};
ChatSupport chat_support(const gguf::File& file, const text::Vocabulary& vocabulary);

}  // namespace oxbow::cli
