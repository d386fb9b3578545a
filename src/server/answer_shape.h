#pragma once
// The JSON of answers: whole ones and the chunks of streams, for each of the interfaces.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/answer_text.h"
#include "server/json_body.h"

namespace oxbow::server {

// What an answer was made from and what it took.
struct Usage {
  size_t prompt_tokens = 0;  // of all prompts
  size_t cached_tokens = 0;  // of those, not evaluated again
  size_t matched_tokens = 0;
  std::string_view miss;     // why not more were cached; see memory::miss_name
  size_t answer_tokens = 0;  // of all choices
  size_t thought_tokens = 0;
  double prompt_seconds = 0;
  double answer_seconds = 0;
  std::optional<size_t> slot;  // of one prompt with one choice
};
Json usage_json(const Usage& usage);
Json timings_json(const Usage& usage);

enum class ChoiceEnd { kStop, kStopText, kLength, kToolCalls };

// A choice that is complete.
struct Choice {
  Delta all;
  ChoiceEnd end = ChoiceEnd::kStop;
  std::string stop_text;  // of kStopText
};

// The names of one answer; the same in all of its chunks.
struct AnswerIdentity {
  std::string id;       // "chatcmpl-..."
  int64_t created = 0;  // seconds since 1970
  std::string model;
  std::string fingerprint;
};

// Immutable and without state, except for what TextShape says.
class AnswerShape {
 public:
  virtual ~AnswerShape() = default;

  // What a stream begins with for each choice, if anything.
  virtual std::optional<Json> opening(size_t index) const = 0;
  virtual Json chunk(size_t index, const Delta& delta) const = 0;
  virtual Json progress(size_t done, size_t total, size_t cached, double seconds) const = 0;
  virtual std::optional<Json> closing(size_t index, const Choice& choice, const Usage& usage) const = 0;
  // After all choices, where the client asked for it.
  virtual std::optional<Json> tail(const Usage& usage) const = 0;
  virtual Json whole(std::span<const Choice> choices, const Usage& usage) const = 0;
  virtual bool ends_with_done() const { return true; }  // "data: [DONE]"
};

// POST /v1/chat/completions
std::unique_ptr<AnswerShape> chat_shape(AnswerIdentity identity);
// POST /v1/completions. text_offset of logprobs goes on from delta to delta, so it keeps one count per
// choice.
std::unique_ptr<AnswerShape> text_shape(AnswerIdentity identity);
// POST /completion, as llama.cpp's server answers it.
std::unique_ptr<AnswerShape> native_shape(AnswerIdentity identity);

// [{token, logprob, bytes, top_logprobs}], for chat answers; with_id adds the id of each token.
Json logprobs_json(std::span<const TokenLog> logs, bool with_id = false);

}  // namespace oxbow::server
