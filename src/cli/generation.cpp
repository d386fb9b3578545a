#include "cli/generation.h"

#include <chrono>
#include <limits>

#include "cli/answer_writer.h"
#include "cli/interrupt.h"
#include "cli/loading.h"
#include "cli/progress.h"
#include "text/stop_text.h"
#include "text/stream_decoder.h"

namespace oxbow::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

// The parts of one answer and what they share.
class Generator::Run {
 public:
  Run(Generator& generator, const AnswerOptions& options)
      : g_(generator),
        options_(options),
        decoder_(generator.tokenizer_),
        stop_(options.stop_text),
        writer_(generator.output_, generator.console_, options.hide_thinking, options.open_thinking) {}

  bool read_prompt(std::span<const TokenId> prompt) {
    Statistics& statistics = answer_.statistics;
    statistics.prompt_tokens = prompt.size();
    const size_t context = g_.session_.context_tokens();
    if (prompt.size() > context) {
      return end_with(
          Error{ErrorKind::kOutOfBudget,
                fmt::format("the prompt has {} tokens, the context holds {}: use a larger context with -c {} "
                            "or more, or a shorter prompt",
                            prompt.size(), context, prompt.size() + 1)});
    }
    Progress progress(g_.console_, format_prompt);
    const auto go_on = [&](size_t done, size_t total) {
      progress.update(done, total);
      return pending_interrupt() == 0;
    };
    auto result = g_.session_.prompt(prompt, go_on, boundaries(prompt));
    statistics.prompt_seconds = seconds_since(start_);
    if (!result) return end_with(with_advice(std::move(result).error()));
    statistics.reused_tokens = result->reused;
    statistics.matched_tokens = result->matched;
    statistics.miss = memory::miss_name(result->miss);
    if (result->stopped) return end(StopReason::kInterrupted);
    return true;
  }

  void generate() {
    const size_t limit = options_.max_tokens < 0 ? std::numeric_limits<size_t>::max()
                                                 : static_cast<size_t>(options_.max_tokens);
    while (answer_.stop == StopReason::kEnd) {
      if (answer_.tokens.size() >= limit) {
        end(StopReason::kLength);
      } else if (pending_interrupt() != 0) {
        end(StopReason::kInterrupted);
      } else if (!next()) {
        break;
      }
    }
  }

  Answer finish() {
    if (!stop_.found()) {
      show(decoder_.flush());
      write(stop_.flush());
    } else {
      drop_tokens_of_stop_text();
    }
    check(writer_.finish());
    // The next message continues here.
    if (!answer_.error && !answer_.tokens.empty()) (void)g_.session_.keep();
    Statistics& statistics = answer_.statistics;
    if (!answer_.tokens.empty())
      statistics.answer_seconds = seconds_since(start_) - statistics.prompt_seconds;
    statistics.answer_tokens = answer_.tokens.size();
    statistics.context_used = g_.session_.tokens().size();
    statistics.context_size = g_.session_.context_tokens();
    return std::move(answer_);
  }

 private:
  // Later prompts part from this one near its end, where a template renders its last turn otherwise than the
  // ones before it: before and after the control tokens there.
  std::vector<size_t> boundaries(std::span<const TokenId> prompt) const {
    constexpr size_t kNearTheEnd = 64;
    std::vector<size_t> boundaries;
    for (size_t i = prompt.size() - std::min(prompt.size(), kNearTheEnd); i < prompt.size(); ++i) {
      if (g_.tokenizer_.vocabulary().kind(prompt[i]) != text::TokenKind::kControl) continue;
      if (boundaries.empty() || boundaries.back() != i) boundaries.push_back(i);
      boundaries.push_back(i + 1);
    }
    return boundaries;
  }

  // One token. False when the model ended the answer.
  bool next() {
    const TokenId token = sample();
    if (answer_.tokens.empty()) answer_.statistics.first_token_seconds = seconds_since(start_);
    if (!options_.ignore_eos && ends(token)) return false;
    answer_.tokens.push_back(token);
    show(decoder_.push(token));
    show(hidden_thinking_mark(token));
    if (stop_.found()) return false;
    if (answer_.stop != StopReason::kEnd) return true;
    if (answer_.tokens.size() == static_cast<size_t>(options_.max_tokens)) return end(StopReason::kLength);
    if (g_.session_.is_full()) return end(StopReason::kContext);
    if (auto status = g_.session_.append(token); !status)
      return end_with(with_advice(std::move(status).error()));
    ++answer_.statistics.answer_steps;
    return true;
  }

  TokenId sample() {
    if (!options_.ignore_eos) return g_.session_.sample(g_.sampler_);
    const auto logits = g_.session_.logits();
    g_.logits_.assign(logits.begin(), logits.end());
    for (const TokenId token : g_.tokenizer_.vocabulary().end_of_generation()) {
      if (static_cast<size_t>(token) < g_.logits_.size()) {
        g_.logits_[static_cast<size_t>(token)] = -std::numeric_limits<float>::infinity();
      }
    }
    return g_.sampler_.sample(g_.logits_, g_.session_.tokens());
  }

  bool ends(TokenId token) const {
    return token == options_.stop_token || g_.tokenizer_.vocabulary().is_end_of_generation(token);
  }

  // Control tokens have no text, but one that opens or closes thoughts is part of the answer.
  std::string hidden_thinking_mark(TokenId token) const {
    if (!g_.tokenizer_.token_bytes(token).empty()) return {};
    const std::string_view name = g_.tokenizer_.token_bytes(token, true);
    for (const text::ThinkingMarks& marks : text::thinking_marks())
      if (name == marks.open || name == marks.close) return std::string(name);
    return {};
  }

  void show(const std::string& text) { write(stop_.push(text)); }

  void write(const std::string& text) {
    answer_.text += text;
    if (g_.output_ == nullptr || answer_.stop == StopReason::kClosed) return;
    check(writer_.push(text));
  }

  void check(Status written) {
    if (!written) {
      end_with(std::move(written).error());
    } else if (g_.output_ != nullptr && g_.output_->is_closed()) {
      end(StopReason::kClosed);
    }
  }

  // The answer keeps the tokens whose text was shown.
  void drop_tokens_of_stop_text() {
    auto& tokens = answer_.tokens;
    while (!tokens.empty() && g_.tokenizer_.decode(tokens).size() > answer_.text.size()) tokens.pop_back();
  }

  bool end(StopReason reason) {
    if (answer_.stop == StopReason::kEnd) answer_.stop = reason;
    return false;
  }
  bool end_with(Error error) {
    answer_.error = std::move(error);
    answer_.stop = StopReason::kError;
    return false;
  }

  Generator& g_;
  const AnswerOptions& options_;
  text::StreamDecoder decoder_;
  text::StopText stop_;
  AnswerWriter writer_;
  Answer answer_;
  Clock::time_point start_ = Clock::now();
};

Answer Generator::answer(std::span<const TokenId> prompt, const AnswerOptions& options) {
  Run run(*this, options);
  if (run.read_prompt(prompt)) run.generate();
  return run.finish();
}

std::string_view stop_reason_name(StopReason reason) {
  switch (reason) {
    case StopReason::kEnd:
      return "end";
    case StopReason::kLength:
      return "length";
    case StopReason::kContext:
      return "context";
    case StopReason::kInterrupted:
      return "interrupted";
    case StopReason::kClosed:
      return "closed";
    case StopReason::kError:
      return "error";
  }
  return "";
}

}  // namespace oxbow::cli
