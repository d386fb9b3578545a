#pragma once
// A conversation as tokens, piece by piece, so that what was said before keeps its tokens when a turn is
// added.

#include <string>
#include <string_view>
#include <vector>

#include "memory/state_spec.h"
#include "text/chat.h"

namespace oxbow::cli {

using memory::TokenId;

// The pieces one after the other are what text::encode_chat gives for the whole conversation, as long as the
// answers' tokens are those that their texts would give. Keeps a reference to the tokenizer.
class ChatFormat {
 public:
  explicit ChatFormat(const text::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // The begin token where the vocabulary asks for one, and the system message unless it is empty.
  std::vector<TokenId> head(const std::string& system) const;
  // A user's message and the beginning of the answer.
  std::vector<TokenId> question(const std::string& text) const;
  // What follows an answer.
  std::vector<TokenId> answer_end() const;

  // The end of an answer as text, for a vocabulary that has no token for it; empty otherwise.
  std::string_view stop_text() const;

 private:
  std::vector<TokenId> encode(const std::string& role, const std::string& text, bool answer) const;

  const text::Tokenizer& tokenizer_;
};

// What a model file says about its chat format.
enum class ChatSupport {
  kChatMl,  // its own format is ChatML
  kOther,   // it carries a template of another format
  kNone,    // nothing: it completes text
};
ChatSupport chat_support(const gguf::File& file, const text::Vocabulary& vocabulary);

}  // namespace oxbow::cli
