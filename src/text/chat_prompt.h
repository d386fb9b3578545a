#pragma once
// From a conversation to the tokens of a prompt, so that nobody's message can end itself or begin another
// one.
//
// The template writes control tokens such as <|im_end|>; a message may contain the same text. Before the
// template runs, every such text in messages, tools and documents gets a mark behind its first character
// (U+FDD0, a noncharacter; a U+FDD0 that is there already is doubled). What the template does with the text
// (cut, join, print) carries the mark along. Afterwards the marks go, and no control token is recognised
// where one was. Messages without such texts reach the template as they are. See
// docs/formats/chat-templates.md, "Control tokens in messages".

#include <span>
#include <string>
#include <vector>

#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace oxbow::text {

// A rendered conversation.
struct ChatText {
  std::string text;  // UTF-8
  // Offsets in text, ascending: no control token reaches across one.
  std::vector<size_t> breaks;
};

// Renders a conversation for a vocabulary: its begin and end tokens where `input` names none, marks as above
// (input.mark is replaced). Texts that open or close thinking stay whole in messages of the assistant, where
// templates look for them. Errors: those of ChatTemplate::render. Any number of threads at once.
Result<ChatText> render_chat(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                             ChatTemplateInput input);

// The tokens of chat.text from byte `from` on. At byte 0 the begin token comes first where the vocabulary
// asks for it, unless the template wrote it; the end token never.
std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, const ChatText& chat, size_t from = 0);

// Whether `<|im_start|>` and `<|im_end|>` are tokens that stand for themselves: the vocabulary knows ChatML.
bool has_chatml_tokens(const Vocabulary& vocabulary);

}  // namespace oxbow::text
