#include "cli/chat_format.h"

#include <fmt/ranges.h>

#include "cli/input_text.h"

namespace oxbow::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kOtherTemplate =
    "another one can be given with --chat-template chatml or --chat-template-file FILE";

// A template and what messages call it.
struct Source {
  std::string name, text;
};

std::string listed_names(const gguf::File& file) {
  std::vector<std::string> names = text::builtin_chat_template_names();
  for (std::string& name : text::chat_template_names(file)) names.push_back(std::move(name));
  return fmt::format("{}", fmt::join(names, ", "));
}

// --chat-template: a text has a tag in it, a name has none.
Result<Source> named_template(const std::string& choice, const gguf::File& file) {
  if (choice.find('{') != std::string::npos) return Source{"the template of --chat-template", choice};
  if (const char* builtin = text::builtin_chat_template(choice)) return Source{choice, builtin};
  if (auto variant = text::find_chat_template(file, choice))
    return Source{fmt::format("the model's chat template '{}'", choice), std::move(*variant)};
  return fail(ErrorKind::kInvalidInput,
              "there is no chat template '{}': expected a template's text or one of {}", choice,
              listed_names(file));
}

Result<Source> find_source(const ChatChoices& choices, const gguf::File& file,
                           const text::Tokenizer& tokenizer, Console& console) {
  if (choices.chat_template) return named_template(*choices.chat_template, file);
  if (choices.template_file) {
    OXBOW_ASSIGN(std::string text, read_text(*choices.template_file));
    return Source{*choices.template_file, std::move(text)};
  }
  if (auto text = text::find_chat_template(file))
    return Source{"the model's chat template", std::move(*text)};
  if (text::has_chatml_tokens(tokenizer.vocabulary()))
    console.dim("The model's file has no chat template: ChatML is used.");
  else
    console.warn("the model's file has no chat template; ChatML is used, which the model may not know");
  return Source{"ChatML", text::builtin_chat_template("chatml")};
}

Json message(std::string_view role, std::string_view content) {
  return {{"role", role}, {"content", content}};
}

// Two texts that no template writes by itself.
constexpr std::string_view kAnswerProbe = "OxbowAnswerProbe", kNextProbe = "OxbowNextProbe";

}  // namespace

Result<ChatFormat> ChatFormat::choose(const ChatChoices& choices, const gguf::File& file,
                                      const text::Tokenizer& tokenizer, Console& console) {
  OXBOW_ASSIGN(const Source source, find_source(choices, file, tokenizer, console));
  auto parsed = text::ChatTemplate::parse(source.text);
  if (!parsed) {
    return fail(parsed.error().kind, "{} cannot be used: {}; {}", source.name, parsed.error().message,
                kOtherTemplate);
  }
  ChatFormat format(tokenizer, std::move(*parsed));
  OXBOW_TRY(format.set_arguments(choices, console));
  format.find_end_of_answers();
  return format;
}

Status ChatFormat::set_arguments(const ChatChoices& choices, Console& console) {
  if (choices.think) {
    // Families name the switch differently.
    bool any = false;
    for (const char* name : {"enable_thinking", "thinking"}) {
      arguments_[name] = *choices.think;
      any = any || template_.mentions(name);
    }
    if (!any)
      console.warn("the chat template has no switch for thinking, so the model does as it always does");
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

Result<text::ChatText> ChatFormat::render(const Json& messages, bool add_generation_prompt) const {
  text::ChatTemplateInput input;
  input.messages = &messages;
  input.arguments = &arguments_;
  input.add_generation_prompt = add_generation_prompt;
  return text::render_chat(*tokenizer_, template_, input);
}

Result<text::ChatText> ChatFormat::render(const Json& messages) const {
  auto text = render(messages, true);
  if (text) return text;
  const bool has_system = !messages.empty() && messages.front().value("role", "") == "system";
  if (has_system) {
    Json others = messages;
    others.erase(0);
    if (render(others, true)) {
      return fail(
          text.error().kind,
          "the model's chat template takes no system message ({}): leave it out and say it in the first "
          "message, or use --chat-template chatml",
          text.error().message);
    }
  }
  return fail(text.error().kind, "{}; {}", text.error().message, kOtherTemplate);
}

std::optional<std::vector<TokenId>> ChatFormat::encode(const text::ChatText& chat, size_t from) const {
  // A SentencePiece vocabulary puts a space in front of plain text, so the cut must stand before a control
  // token.
  if (from > 0 && tokenizer_->vocabulary().add_space_prefix()) {
    const auto next = tokenizer_->find_control(chat.text, from);
    if (!next || next->begin != from) return std::nullopt;
  }
  return text::encode_chat(*tokenizer_, chat, from);
}

// Renders a conversation with an answer in it and looks at what the template writes behind the answer.
void ChatFormat::find_end_of_answers() {
  const Json answered = {message("user", "x"), message("assistant", kAnswerProbe)};
  Json asked_again = answered;
  asked_again.push_back(message("user", kNextProbe));
  auto rendered = render(asked_again, false);
  if (!rendered) rendered = render(answered, false);
  if (!rendered) return;
  const std::string& text = rendered->text;
  const size_t answer = text.find(kAnswerProbe);
  if (answer == std::string::npos) return;
  const size_t from = answer + kAnswerProbe.size();
  const text::Vocabulary& vocabulary = tokenizer_->vocabulary();
  if (const auto next = tokenizer_->find_control(text, from); next && next->begin == from) {
    if (!vocabulary.is_end_of_generation(next->id)) stop_token_ = next->id;
    return;
  }
  std::string_view rest = std::string_view(text).substr(from);
  rest = rest.substr(0, rest.find(kNextProbe));
  const size_t mark = rest.find_first_not_of(" \t\r\n");
  if (mark == std::string_view::npos) return;
  rest = rest.substr(0, rest.find('\n', mark));
  rest = rest.substr(0, rest.find_last_not_of(" \t\r\n") + 1);
  // A single sign would end answers by chance.
  if (rest.size() - mark >= 2) stop_text_ = rest;
}

ChatSupport chat_support(const gguf::File& file, const text::Vocabulary& vocabulary) {
  if (text::find_chat_template(file)) return ChatSupport::kTemplate;
  return text::has_chatml_tokens(vocabulary) ? ChatSupport::kChatMl : ChatSupport::kNone;
}

}  // namespace oxbow::cli
