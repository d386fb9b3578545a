#include "text/chat_prompt.h"

#include <algorithm>

#include "text/thinking.h"
#include "text/unicode.h"

namespace oxbow::text {

namespace {

constexpr std::string_view kMark = "\xEF\xB7\x90";  // U+FDD0

bool stands_for_itself(const Vocabulary& vocabulary, std::string_view text) {
  const auto id = vocabulary.find(text);
  if (!id) return false;
  const TokenKind kind = vocabulary.kind(*id);
  return kind == TokenKind::kControl || kind == TokenKind::kUserDefined;
}

bool is_thinking_mark(std::string_view text) {
  return std::ranges::any_of(thinking_marks(), [&](const ThinkingMarks& marks) {
    return text == marks.open || text == marks.close;
  });
}

std::string_view without_end_space(std::string_view text) {
  while (!text.empty()) {
    size_t start = text.size() - 1;
    while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
    if (!is_space(decode_character(text.substr(start)).code_point)) break;
    text = text.substr(0, start);
  }
  return text;
}

// Where marks go: inside of every control token that text spells, and at its end, with or without the blank
// space there, where it ends within one. Ascending.
std::vector<size_t> mark_places(const Tokenizer& tokenizer, std::string_view text, bool of_assistant) {
  std::vector<size_t> places;
  for (size_t at = 0; const auto found = tokenizer.find_control(text, at);) {
    const std::string_view name = text.substr(found->begin, found->size);
    const size_t first = decode_character(name).size_bytes;
    at = found->begin + first;
    if (found->size > first && !(of_assistant && is_thinking_mark(name))) places.push_back(at);
  }
  const std::string_view stripped = without_end_space(text);
  if (tokenizer.ends_within_control(stripped)) places.push_back(stripped.size());
  if (stripped.size() < text.size() && tokenizer.ends_within_control(text)) places.push_back(text.size());
  return places;
}

// text with marks, and its own marks doubled.
std::string marked(const Tokenizer& tokenizer, std::string_view text, bool of_assistant) {
  const std::vector<size_t> places = mark_places(tokenizer, text, of_assistant);
  if (places.empty() && text.find(kMark) == std::string_view::npos) return std::string(text);
  std::string out;
  auto place = places.begin();
  for (size_t at = 0; at <= text.size(); ++at) {
    for (; place != places.end() && *place == at; ++place) out += kMark;
    if (at == text.size()) break;
    if (text.substr(at).starts_with(kMark)) out += kMark;
    out += text[at];
  }
  return out;
}

ChatText without_marks(std::string_view rendered) {
  ChatText out;
  while (true) {
    const size_t at = rendered.find(kMark);
    out.text += rendered.substr(0, at);
    if (at == std::string_view::npos) return out;
    rendered.remove_prefix(at + kMark.size());
    if (rendered.starts_with(kMark)) {
      out.text += kMark;
      rendered.remove_prefix(kMark.size());
    } else {
      out.breaks.push_back(out.text.size());
    }
  }
}

}  // namespace

Result<ChatText> render_chat(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                             ChatTemplateInput input) {
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  if (input.bos_token.empty() && vocabulary.bos()) input.bos_token = vocabulary.token_text(*vocabulary.bos());
  if (input.eos_token.empty() && vocabulary.eos()) input.eos_token = vocabulary.token_text(*vocabulary.eos());
  input.mark = [&](std::string_view text, bool of_assistant) {
    return marked(tokenizer, text, of_assistant);
  };
  OXBOW_ASSIGN(const std::string rendered, chat_template.render(input));
  return without_marks(rendered);
}

std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, const ChatText& chat, size_t from) {
  std::vector<size_t> breaks;
  for (const size_t place : chat.breaks)
    if (place > from) breaks.push_back(place - from);
  std::vector<TokenId> tokens;
  tokenizer.encode_to(std::string_view(chat.text).substr(from), {.add_special = false, .parse_special = true},
                      breaks, tokens);
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  const bool begins = !tokens.empty() && tokens.front() == vocabulary.bos();
  if (from == 0 && vocabulary.add_bos() && !begins) tokens.insert(tokens.begin(), *vocabulary.bos());
  return tokens;
}

bool has_chatml_tokens(const Vocabulary& vocabulary) {
  return stands_for_itself(vocabulary, "<|im_start|>") && stands_for_itself(vocabulary, "<|im_end|>");
}

}  // namespace oxbow::text
