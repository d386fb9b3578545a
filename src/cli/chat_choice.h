#pragma once
// The chat format that the flags of a command choose.

#include "cli/console.h"
#include "cli/options.h"
#include "text/chat_format.h"

namespace oxbow::cli {

// As text::ChatFormat::choose; reads the template's file, and says on the console what a person would not
// expect.
Result<text::ChatFormat> choose_chat_format(const ChatChoices& choices, const gguf::File& file,
                                            const text::Tokenizer& tokenizer, Console& console);

}  // namespace oxbow::cli
