#pragma once
// ChatML, the chat format of `<|im_start|>role\ncontent<|im_end|>\n`.

#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace oxbow::text {

struct Message {
  std::string role, content;
};

// The format as text. What a message contains may look like the format's own marks: encode with encode_chat()
// instead of encoding this text.
std::string format_chatml(std::span<const Message> messages, bool add_generation_prompt);

// Whether `<|im_start|>` and `<|im_end|>` are tokens that stand for themselves.
bool has_chatml_tokens(const Vocabulary& vocabulary);

// A prompt, and where each message ends in it.
struct ChatPrompt {
  std::vector<TokenId> tokens;
  // For message i the number of tokens up to and including its `<|im_end|>\n`: good places to keep a
  // checkpoint.
  std::vector<size_t> message_ends;
};

// The tokens of the format: those of format_chatml() for messages without special tokens in them. Control
// tokens written in a role or content stay plain text, so that no message can end itself or begin another.
// Starts with the begin token where the vocabulary asks for one. When the vocabulary lacks ChatML's tokens,
// the marks are plain text too.
ChatPrompt encode_chat(const Tokenizer& tokenizer, std::span<const Message> messages,
                       bool add_generation_prompt);

}  // namespace oxbow::text
