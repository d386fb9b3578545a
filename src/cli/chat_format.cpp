#include "cli/chat_format.h"

namespace oxbow::cli {

std::vector<TokenId> ChatFormat::encode(const std::string& role, const std::string& text, bool answer) const {
  const text::Message message{role, text};
  auto tokens = text::encode_chat(tokenizer_, {&message, 1}, answer).tokens;
  if (tokenizer_.vocabulary().add_bos()) tokens.erase(tokens.begin());
  return tokens;
}

std::vector<TokenId> ChatFormat::head(const std::string& system) const {
  std::vector<TokenId> tokens;
  const text::Vocabulary& vocabulary = tokenizer_.vocabulary();
  if (vocabulary.add_bos()) tokens.push_back(*vocabulary.bos());
  if (system.empty()) return tokens;
  const auto message = encode("system", system, false);
  tokens.insert(tokens.end(), message.begin(), message.end());
  return tokens;
}

std::vector<TokenId> ChatFormat::question(const std::string& text) const {
  return encode("user", text, true);
}

std::vector<TokenId> ChatFormat::answer_end() const {
  std::vector<TokenId> tokens;
  tokenizer_.encode_to("<|im_end|>", {.add_special = false, .parse_special = true}, tokens);
  tokenizer_.encode_to("\n", {.add_special = false, .parse_special = false}, tokens);
  return tokens;
}

std::string_view ChatFormat::stop_text() const {
  return text::has_chatml_tokens(tokenizer_.vocabulary()) ? std::string_view() : "<|im_end|>";
}

ChatSupport chat_support(const gguf::File& file, const text::Vocabulary& vocabulary) {
  const auto chat_template = file.find_string("tokenizer.chat_template");
  if (chat_template && *chat_template) {
    return (*chat_template)->find("<|im_start|>") != std::string_view::npos ? ChatSupport::kChatMl
                                                                            : ChatSupport::kOther;
  }
  return text::has_chatml_tokens(vocabulary) ? ChatSupport::kChatMl : ChatSupport::kNone;
}

}  // namespace oxbow::cli
