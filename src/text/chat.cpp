#include "text/chat.h"

namespace oxbow::text {

namespace {

constexpr std::string_view kStart = "<|im_start|>";
constexpr std::string_view kEnd = "<|im_end|>";
constexpr std::string_view kAnswerRole = "assistant\n";

bool stands_for_itself(const Vocabulary& vocabulary, std::string_view text) {
  const auto id = vocabulary.find(text);
  if (!id) return false;
  const TokenKind kind = vocabulary.kind(*id);
  return kind == TokenKind::kControl || kind == TokenKind::kUserDefined;
}

}  // namespace

std::string format_chatml(std::span<const Message> messages, bool add_generation_prompt) {
  std::string text;
  for (const Message& message : messages) {
    text.append(kStart).append(message.role).append("\n").append(message.content).append(kEnd).append("\n");
  }
  if (add_generation_prompt) text.append(kStart).append(kAnswerRole);
  return text;
}

bool has_chatml_tokens(const Vocabulary& vocabulary) {
  return stands_for_itself(vocabulary, kStart) && stands_for_itself(vocabulary, kEnd);
}

ChatPrompt encode_chat(const Tokenizer& tokenizer, std::span<const Message> messages,
                       bool add_generation_prompt) {
  constexpr EncodeOptions kMark{.add_special = false, .parse_special = true};
  constexpr EncodeOptions kPlain{.add_special = false, .parse_special = false};
  ChatPrompt prompt;
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  if (vocabulary.add_bos()) prompt.tokens.push_back(*vocabulary.bos());
  for (const Message& message : messages) {
    tokenizer.encode_to(kStart, kMark, prompt.tokens);
    tokenizer.encode_to(message.role + "\n" + message.content, kPlain, prompt.tokens);
    tokenizer.encode_to(kEnd, kMark, prompt.tokens);
    tokenizer.encode_to("\n", kPlain, prompt.tokens);
    prompt.message_ends.push_back(prompt.tokens.size());
  }
  if (add_generation_prompt) {
    tokenizer.encode_to(kStart, kMark, prompt.tokens);
    tokenizer.encode_to(kAnswerRole, kPlain, prompt.tokens);
  }
  return prompt;
}

}  // namespace oxbow::text
