#pragma once
// One answer: the prompt, then token after token as text on stdout, until something ends it.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/statistics.h"
#include "cli/text_output.h"
#include "engine/sampler.h"
#include "engine/session.h"
#include "text/thinking.h"
#include "text/tokenizer.h"

namespace oxbow::cli {

using memory::TokenId;

enum class StopReason {
  kEnd,          // the model ended it
  kLength,       // as many tokens as were wanted
  kContext,      // the context is full
  kInterrupted,  // Ctrl-C
  kClosed,       // nobody reads the text any more
  kError,        // Answer::error
};

struct Answer {
  std::vector<TokenId> tokens;  // without the one that ended it
  std::string text;             // with the thoughts and their marks
  StopReason stop = StopReason::kEnd;
  std::optional<Error> error;
  Statistics statistics;
};

struct AnswerOptions {
  int64_t max_tokens = -1;
  bool ignore_eos = false;
  // Of the chat format, besides the vocabulary's own end tokens.
  std::string_view stop_text;
  std::optional<TokenId> stop_token;
  const text::ThinkingMarks* open_thinking = nullptr;  // the prompt's end opens thoughts with these
  bool hide_thinking = false;
};

// Keeps references to everything.
class Generator {
 public:
  // output: where the text goes while it arrives; null: nowhere.
  Generator(engine::Session& session, const text::Tokenizer& tokenizer, engine::Sampler& sampler,
            Console& console, TextOutput* output)
      : session_(session), tokenizer_(tokenizer), sampler_(sampler), console_(console), output_(output) {}

  // What was written before an error stays in the answer. A prompt that the context does not hold is kError;
  // the message names -c.
  Answer answer(std::span<const TokenId> prompt, const AnswerOptions& options);

 private:
  class Run;

  engine::Session& session_;
  const text::Tokenizer& tokenizer_;
  engine::Sampler& sampler_;
  Console& console_;
  TextOutput* output_;
  std::vector<float> logits_;  // with the tokens that end an answer taken out
};

// "end", "length", "context", "interrupted", "closed", "error"
std::string_view stop_reason_name(StopReason reason);

}  // namespace oxbow::cli
