#include "cli/chat_choice.h"

#include "cli/input_text.h"

namespace oxbow::cli {

Result<text::ChatFormat> choose_chat_format(const ChatChoices& choices, const gguf::File& file,
                                            const text::Tokenizer& tokenizer, Console& console) {
  text::ChatChoices chosen{
      .chat_template = choices.chat_template, .arguments = choices.arguments, .think = choices.think};
  if (choices.template_file && !choices.chat_template) {
    OXBOW_ASSIGN(std::string text, read_text(*choices.template_file));
    chosen.other_template = {*choices.template_file, std::move(text)};
  }
  return text::ChatFormat::choose(chosen, file, tokenizer, [&](bool is_warning, const std::string& text) {
    is_warning ? console.warn(text) : console.dim("{}", text);
  });
}

}  // namespace oxbow::cli
