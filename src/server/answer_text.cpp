#include "server/answer_text.h"

#include <algorithm>

namespace oxbow::server {
namespace {

using Kind = text::ThinkingSplitter::Kind;
constexpr std::string_view kBlank = " \t\r\n";

}  // namespace

AnswerText::AnswerText(const text::Tokenizer& tokenizer, const AnswerTextOptions& options)
    : tokenizer_(tokenizer),
      decoder_(tokenizer),
      stop_(options.stop),
      split_thinking_(options.split_thinking),
      splitter_(options.open_thinking),
      calls_(options.tool_calls ? options.tool_calls() : nullptr),
      any_thoughts_(options.open_thinking != nullptr) {}

// Control tokens have no text, but those that mark thoughts or calls are part of the answer.
std::string_view AnswerText::hidden_mark(engine::TokenId token) const {
  if (!tokenizer_.token_bytes(token).empty()) return {};
  const std::string_view name = tokenizer_.token_bytes(token, true);
  const bool of_thoughts = std::ranges::any_of(text::thinking_marks(), [&](const text::ThinkingMarks& marks) {
    return name == marks.open || name == marks.close;
  });
  return of_thoughts || (calls_ != nullptr && calls_->is_mark(name)) ? name : std::string_view();
}

Delta AnswerText::push(const engine::TokenEvent& event, bool logprobs) {
  Delta delta;
  if (stop_.found()) return delta;
  ++tokens_;
  if (split_thinking_ && splitter_.is_thinking()) ++thought_tokens_;
  std::string text = decoder_.push(event.token);
  text += hidden_mark(event.token);
  decoded_bytes_ += text.size();
  if (logprobs) {
    const auto describe = [&](engine::TokenId token, float logprob) {
      return TokenLog::Alternative{token, std::string(tokenizer_.token_bytes(token, true)), logprob};
    };
    TokenLog log{describe(event.token, event.logprob), {}};
    for (const auto& one : event.top) log.top.push_back(describe(one.token, one.logprob));
    pending_.push_back({decoded_bytes_ + decoder_.held_bytes(), std::move(log)});
  }
  take(stop_.push(text), delta);
  release_logprobs(delta);
  return delta;
}

Delta AnswerText::finish() {
  Delta delta;
  if (!stop_.found()) {
    take(stop_.push(decoder_.flush()), delta);
    if (!stop_.found()) {
      take(stop_.flush(), delta);
      passed_bytes_ = SIZE_MAX;  // nothing is cut off: all tokens count
    }
  }
  if (split_thinking_) {
    std::vector<text::ThinkingSplitter::Piece> pieces;
    splitter_.flush(pieces);
    for (const auto& piece : pieces) {
      if (piece.kind == Kind::kThought) take_thoughts(piece.text, delta);
      if (piece.kind == Kind::kAnswer) take_answer(piece.text, delta);
    }
  }
  if (calls_ != nullptr) calls_->flush(delta);
  release_logprobs(delta);
  return delta;
}

void AnswerText::take(std::string shown, Delta& delta) {
  passed_bytes_ += shown.size();
  if (shown.empty()) return;
  if (!split_thinking_) return take_answer(shown, delta);
  std::vector<text::ThinkingSplitter::Piece> pieces;
  splitter_.push(shown, pieces);
  for (const auto& piece : pieces) {
    any_thoughts_ = any_thoughts_ || piece.kind != Kind::kAnswer;
    if (piece.kind == Kind::kThought) take_thoughts(piece.text, delta);
    if (piece.kind == Kind::kAnswer) take_answer(piece.text, delta);
  }
}

// Without the blanks around them.
void AnswerText::take_thoughts(std::string_view text, Delta& delta) {
  if (!thoughts_begun_) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
    if (text.empty()) return;
    thoughts_begun_ = true;
  }
  const size_t end = text.find_last_not_of(kBlank) + 1;  // 0 when all are blank
  if (end > 0) {
    delta.thoughts += std::exchange(blanks_, {});
    delta.thoughts += text.substr(0, end);
  }
  blanks_ += text.substr(end);
}

void AnswerText::take_answer(std::string_view text, Delta& delta) {
  if (!answer_begun_ && any_thoughts_)
    text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  if (text.empty()) return;
  answer_begun_ = true;
  if (calls_ != nullptr) {
    calls_->push(text, delta);
  } else {
    delta.content += text;
  }
}

// Tokens reach the client together with their text, and never without it.
void AnswerText::release_logprobs(Delta& delta) {
  const auto end =
      std::ranges::find_if(pending_, [&](const PendingLog& one) { return one.end_bytes > passed_bytes_; });
  for (auto one = pending_.begin(); one != end; ++one) delta.logprobs.push_back(std::move(one->log));
  pending_.erase(pending_.begin(), end);
  if (stop_.found()) pending_.clear();
}

}  // namespace oxbow::server
