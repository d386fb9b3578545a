#pragma once
// One answer, from tokens to the parts that clients are sent: thoughts, text, calls of tools.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/request.h"
#include "text/stop_text.h"
#include "text/stream_decoder.h"
#include "text/thinking.h"

namespace oxbow::server {

// A token with what the model thought of it and of its alternatives.
struct TokenLog {
  struct Alternative {
    engine::TokenId token = 0;
    std::string bytes;  // not always UTF-8
    float logprob = 0;  // natural
  };
  Alternative chosen;
  std::vector<Alternative> top;  // most likely first
};

// A piece of a call. The first one of a call has its id and name.
struct ToolCallDelta {
  size_t index = 0;
  std::string id, name;
  std::string arguments;  // a piece of the JSON text
};

// What is new of an answer. Texts are whole characters.
struct Delta {
  std::string content, thoughts;
  std::vector<ToolCallDelta> calls;
  std::vector<TokenLog> logprobs;  // of the tokens whose text is decided by now

  bool empty() const { return content.empty() && thoughts.empty() && calls.empty() && logprobs.empty(); }
};

// Takes the calls of tools out of an answer while it arrives. See text/tool_calls.h for the styles.
class ToolCallReader {
 public:
  virtual ~ToolCallReader() = default;
  // Appends what is certain by now: text outside of calls to delta.content, calls to delta.calls.
  virtual void push(std::string_view text, Delta& delta) = 0;
  virtual void flush(Delta& delta) = 0;
  // Whether the text of this control token belongs to calls and must be seen.
  virtual bool is_mark(std::string_view token_text) const = 0;
};

struct AnswerTextOptions {
  std::vector<std::string> stop;                       // texts that end the answer and are no part of it
  bool split_thinking = true;                          // else thoughts and their marks are text
  const text::ThinkingMarks* open_thinking = nullptr;  // the prompt's end opens thoughts with these
  std::function<std::unique_ptr<ToolCallReader>()> tool_calls;  // empty: calls are text
};

// The parts do not depend on how the tokens were cut. Keeps a reference to the tokenizer; one thread.
class AnswerText {
 public:
  AnswerText(const text::Tokenizer& tokenizer, const AnswerTextOptions& options);

  Delta push(const engine::TokenEvent& event, bool logprobs);
  // The end: what was held back.
  Delta finish();

  bool stopped() const { return stop_.found(); }                  // by a stop text
  const std::string& stop_text() const { return stop_.which(); }  // which; empty when not stopped
  size_t tokens() const { return tokens_; }
  size_t thought_tokens() const { return thought_tokens_; }

 private:
  std::string_view hidden_mark(engine::TokenId token) const;
  void take(std::string shown, Delta& delta);
  void take_answer(std::string_view text, Delta& delta);
  void take_thoughts(std::string_view text, Delta& delta);
  void release_logprobs(Delta& delta);

  const text::Tokenizer& tokenizer_;
  text::StreamDecoder decoder_;
  text::StopText stop_;
  bool split_thinking_;
  text::ThinkingSplitter splitter_;
  std::unique_ptr<ToolCallReader> calls_;
  bool any_thoughts_ = false;  // an answer without thoughts keeps the blanks at its beginning
  bool answer_begun_ = false;
  bool thoughts_begun_ = false;
  std::string blanks_;  // of thoughts: blanks that may turn out to be their end
  size_t tokens_ = 0, thought_tokens_ = 0;

  struct PendingLog {
    size_t end_bytes;  // of the token's text in the decoded answer
    TokenLog log;
  };
  std::vector<PendingLog> pending_;
  size_t decoded_bytes_ = 0, passed_bytes_ = 0;  // before and after the search for stop texts
};

}  // namespace oxbow::server
