#include "text/chat_format.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace oxbow::text {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kOtherTemplate =
    "another one can be given with --chat-template chatml or --chat-template-file FILE";

// A template and what messages call it.
using Source = ChatChoices::Template;

std::string listed_names(const gguf::File& file) {
  std::vector<std::string> names = builtin_chat_template_names();
  for (std::string& name : chat_template_names(file)) names.push_back(std::move(name));
  return fmt::format("{}", fmt::join(names, ", "));
}

// --chat-template: a text has a tag in it, a name has none.
Result<Source> named_template(const std::string& choice, const gguf::File& file) {
  if (choice.find('{') != std::string::npos) return Source{"the template of --chat-template", choice};
  if (const char* builtin = builtin_chat_template(choice)) return Source{choice, builtin};
  if (auto variant = find_chat_template(file, choice))
    return Source{fmt::format("the model's chat template '{}'", choice), std::move(*variant)};
  return fail(ErrorKind::kInvalidInput,
              "there is no chat template '{}': expected a template's text or one of {}", choice,
              listed_names(file));
}

Result<Source> find_source(const ChatChoices& choices, const gguf::File& file, const Tokenizer& tokenizer,
                           const ChatFormat::Remark& remark) {
  if (choices.chat_template) return named_template(*choices.chat_template, file);
  if (choices.other_template) return *choices.other_template;
  if (auto text = find_chat_template(file)) return Source{"the model's chat template", std::move(*text)};
  if (has_chatml_tokens(tokenizer.vocabulary()))
    remark(false, "The model's file has no chat template: ChatML is used.");
  else
    remark(true, "the model's file has no chat template; ChatML is used, which the model may not know");
  return Source{"ChatML", builtin_chat_template("chatml")};
}

Json message(std::string_view role, std::string_view content) {
  return {{"role", role}, {"content", content}};
}

// Two texts that no template writes by itself.
constexpr std::string_view kAnswerProbe = "OxbowAnswerProbe", kNextProbe = "OxbowNextProbe";

}  // namespace

Result<ChatFormat> ChatFormat::choose(const ChatChoices& choices, const gguf::File& file,
                                      const Tokenizer& tokenizer, const Remark& remark) {
  const Remark say = remark ? remark : [](bool, const std::string&) {};
  OXBOW_ASSIGN(Source source, find_source(choices, file, tokenizer, say));
  auto parsed = ChatTemplate::parse(source.text);
  if (!parsed) {
    return fail(parsed.error().kind, "{} cannot be used: {}; {}", source.name, parsed.error().message,
                kOtherTemplate);
  }
  ChatFormat format(tokenizer, std::move(*parsed), source.text);
  OXBOW_TRY(format.set_arguments(choices, say));
  format.find_marks();
  return format;
}

Status ChatFormat::set_arguments(const ChatChoices& choices, const Remark& remark) {
  if (choices.think) {
    // Families name the switch differently.
    bool any = false;
    for (const char* name : {"enable_thinking", "thinking"}) {
      arguments_[name] = *choices.think;
      any = any || template_.mentions(name);
    }
    if (!any)
      remark(true, "the chat template has no switch for thinking, so the model does as it always does");
  }
  if (choices.arguments.empty()) return {};
  const Json given = Json::parse(choices.arguments, nullptr, false);
  if (!given.is_object()) {
    return fail(ErrorKind::kInvalidInput,
                "--chat-template-kwargs must be a JSON object such as {{\"enable_thinking\": false}}");
  }
  arguments_.update(given);
  return {};
}

Result<ChatText> ChatFormat::render_unexplained(const ChatInput& input) const {
  Json merged;
  const Json* arguments = &arguments_;
  if (input.arguments != nullptr && !input.arguments->empty()) {
    merged = arguments_;
    merged.update(*input.arguments);
    arguments = &merged;
  }
  ChatTemplateInput all;
  all.messages = input.messages;
  all.tools = input.tools;
  all.documents = input.documents;
  all.arguments = arguments;
  all.add_generation_prompt = input.add_generation_prompt;
  return render_chat(*tokenizer_, template_, all);
}

Result<ChatText> ChatFormat::render(const Json& messages) const {
  return render(ChatInput{.messages = &messages});
}

Result<ChatText> ChatFormat::render(const ChatInput& input) const {
  auto text = render_unexplained(input);
  if (text) return text;
  const Json& messages = *input.messages;
  const bool has_system = !messages.empty() && messages.front().value("role", "") == "system";
  if (has_system) {
    Json others = messages;
    others.erase(0);
    ChatInput without = input;
    without.messages = &others;
    if (render_unexplained(without)) {
      return fail(
          text.error().kind,
          "the model's chat template takes no system message ({}): leave it out and say it in the first "
          "message, or use --chat-template chatml",
          text.error().message);
    }
  }
  return fail(text.error().kind, "{}; {}", text.error().message, kOtherTemplate);
}

Result<ChatText> ChatFormat::render_open(const ChatInput& input) const {
  Json messages = *input.messages;
  // Behind the text, so that no template takes blanks off its end.
  messages.back()["content"] = messages.back().value("content", "") + std::string(kAnswerProbe);
  ChatInput closed = input;
  closed.messages = &messages;
  closed.add_generation_prompt = false;
  OXBOW_ASSIGN(ChatText chat, render(closed));
  const size_t end = chat.text.rfind(kAnswerProbe);
  if (end == std::string::npos) {
    return fail(ErrorKind::kUnsupported,
                "the chat template does not end with the text of the last message, "
                "so an answer cannot go on behind it");
  }
  chat.text.resize(end);
  while (!chat.breaks.empty() && chat.breaks.back() > end) chat.breaks.pop_back();
  return chat;
}

std::optional<std::vector<TokenId>> ChatFormat::encode(const ChatText& chat, size_t from) const {
  // A SentencePiece vocabulary puts a space in front of plain text, so the cut must stand before a control
  // token.
  if (from > 0 && tokenizer_->vocabulary().add_space_prefix()) {
    const auto next = tokenizer_->find_control(chat.text, from);
    if (!next || next->begin != from) return std::nullopt;
  }
  return encode_chat(*tokenizer_, chat, from);
}

// Renders a conversation with an answer in it and looks at what the template writes behind the answer.
void ChatFormat::find_marks() {
  const Json answered = {message("user", "x"), message("assistant", kAnswerProbe)};
  Json asked_again = answered;
  asked_again.push_back(message("user", kNextProbe));
  auto rendered = render_unexplained({.messages = &asked_again, .add_generation_prompt = false});
  if (!rendered) rendered = render_unexplained({.messages = &answered, .add_generation_prompt = false});
  if (!rendered) return;
  const size_t answer = rendered->text.find(kAnswerProbe);
  if (answer == std::string::npos) return;
  find_end_of_answers(rendered->text, answer + kAnswerProbe.size());
  find_message_start(rendered->text, answer + kAnswerProbe.size());
}

void ChatFormat::find_end_of_answers(std::string_view rendered, size_t answer_end) {
  const Vocabulary& vocabulary = tokenizer_->vocabulary();
  if (const auto next = tokenizer_->find_control(rendered, answer_end); next && next->begin == answer_end) {
    if (!vocabulary.is_end_of_generation(next->id)) stop_token_ = next->id;
    return;
  }
  std::string_view rest = rendered.substr(answer_end);
  rest = rest.substr(0, rest.find(kNextProbe));
  const size_t mark = rest.find_first_not_of(" \t\r\n");
  if (mark == std::string_view::npos) return;
  rest = rest.substr(0, rest.find('\n', mark));
  rest = rest.substr(0, rest.find_last_not_of(" \t\r\n") + 1);
  // A single sign would end answers by chance.
  if (rest.size() - mark >= 2) stop_text_ = rest;
}

// Of the control tokens between an answer and the next message: the first that does not end the answer.
void ChatFormat::find_message_start(std::string_view rendered, size_t answer_end) {
  const size_t end = rendered.find(kNextProbe, answer_end);
  if (end == std::string_view::npos) return;
  for (size_t at = answer_end; const auto found = tokenizer_->find_control(rendered.substr(0, end), at);) {
    at = found->begin + found->size;
    const bool ends = tokenizer_->vocabulary().is_end_of_generation(found->id) || found->id == stop_token_;
    if (ends) continue;
    message_start_ = found->id;
    return;
  }
}

ChatSupport chat_support(const gguf::File& file, const Vocabulary& vocabulary) {
  if (find_chat_template(file)) return ChatSupport::kTemplate;
  return has_chatml_tokens(vocabulary) ? ChatSupport::kChatMl : ChatSupport::kNone;
}

std::vector<size_t> message_boundaries(const ChatFormat& format, const Vocabulary& vocabulary,
                                       std::span<const TokenId> tokens, size_t messages) {
  constexpr size_t kNearTheEnd = 64;
  std::vector<size_t> found;  // descending
  for (size_t i = tokens.size(); i-- > 1 && (messages > 0 || i + kNearTheEnd >= tokens.size());) {
    const bool starts = tokens[i] == format.message_start() && messages > 0;
    if (starts) --messages;
    const bool near_end =
        i + kNearTheEnd >= tokens.size() && vocabulary.kind(tokens[i]) == TokenKind::kControl;
    if (near_end && i + 1 < tokens.size() && (found.empty() || found.back() != i + 1)) found.push_back(i + 1);
    if (near_end || starts) found.push_back(i);
  }
  std::ranges::reverse(found);
  return found;
}

}  // namespace oxbow::text
