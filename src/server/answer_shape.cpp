#include "server/answer_shape.h"

#include "text/stream_decoder.h"

namespace oxbow::server {
namespace {

std::string as_utf8(std::string_view bytes) {
  std::string text;
  text::Utf8Stream stream;
  stream.push(bytes, text);
  stream.flush(text);
  return text;
}

Json alternative_json(const TokenLog::Alternative& one, bool with_id) {
  Json bytes = Json::array();
  for (const char byte : one.bytes) bytes.push_back(static_cast<unsigned char>(byte));
  Json json = with_id ? Json{{"id", one.token}} : Json::object();
  json["token"] = as_utf8(one.bytes);
  json["logprob"] = one.logprob;
  json["bytes"] = std::move(bytes);
  return json;
}

double per(double amount, double count) {
  return count > 0 ? amount / count : 0;
}

std::string_view finish_reason(ChoiceEnd end) {
  switch (end) {
    case ChoiceEnd::kLength:
      return "length";
    case ChoiceEnd::kToolCalls:
      return "tool_calls";
    default:
      return "stop";
  }
}

Json frame(const AnswerIdentity& identity, std::string_view object) {
  return {{"id", identity.id},
          {"object", object},
          {"created", identity.created},
          {"model", identity.model},
          {"system_fingerprint", identity.fingerprint}};
}

Json with_choice(Json json, Json choice) {
  json["choices"] = Json::array();
  json["choices"].push_back(std::move(choice));
  return json;
}

Json progress_json(size_t done, size_t total, size_t cached, double seconds) {
  return {{"total", total}, {"cache", cached}, {"processed", done}, {"time_ms", seconds * 1000}};
}

class ChatShape : public AnswerShape {
 public:
  explicit ChatShape(AnswerIdentity identity) : identity_(std::move(identity)) {}

  std::optional<Json> opening(size_t index) const override {
    return chunk(index, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
  }
  Json chunk(size_t index, const Delta& delta) const override {
    Json fields = Json::object();
    if (!delta.thoughts.empty()) fields["reasoning_content"] = delta.thoughts;
    if (!delta.content.empty()) fields["content"] = delta.content;
    for (const ToolCallDelta& call : delta.calls) fields["tool_calls"].push_back(call_json(call));
    return chunk(index, std::move(fields), logprobs(delta), nullptr);
  }
  Json progress(size_t done, size_t total, size_t cached, double seconds) const override {
    Json json = chunk(0, Json::object(), nullptr, nullptr);
    json["prompt_progress"] = progress_json(done, total, cached, seconds);
    return json;
  }
  std::optional<Json> closing(size_t index, const Choice& choice, const Usage&) const override {
    return chunk(index, Json::object(), nullptr, finish_reason(choice.end));
  }
  std::optional<Json> tail(const Usage& usage) const override {
    Json json = frame(identity_, "chat.completion.chunk");
    json["choices"] = Json::array();
    json["usage"] = usage_json(usage);
    json["timings"] = timings_json(usage);
    return json;
  }
  Json whole(std::span<const Choice> choices, const Usage& usage) const override {
    Json json = frame(identity_, "chat.completion");
    json["choices"] = Json::array();
    for (const Choice& choice : choices) {
      json["choices"].push_back({{"index", json["choices"].size()},
                                 {"message", message_json(choice)},
                                 {"logprobs", logprobs(choice.all)},
                                 {"finish_reason", finish_reason(choice.end)}});
    }
    json["usage"] = usage_json(usage);
    json["timings"] = timings_json(usage);
    return json;
  }

 private:
  Json chunk(size_t index, Json delta, Json logprobs, Json reason) const {
    return with_choice(frame(identity_, "chat.completion.chunk"), {{"index", index},
                                                                   {"delta", std::move(delta)},
                                                                   {"logprobs", std::move(logprobs)},
                                                                   {"finish_reason", std::move(reason)}});
  }
  static Json logprobs(const Delta& delta) {
    if (delta.logprobs.empty()) return nullptr;
    return {{"content", logprobs_json(delta.logprobs)}, {"refusal", nullptr}};
  }
  static Json call_json(const ToolCallDelta& call) {
    Json json = {{"index", call.index}};
    if (!call.id.empty()) {
      json["id"] = call.id;
      json["type"] = "function";
    }
    json["function"] = Json::object();
    if (!call.id.empty()) json["function"]["name"] = call.name;
    json["function"]["arguments"] = call.arguments;
    return json;
  }
  static Json message_json(const Choice& choice) {
    Json json = {{"role", "assistant"}, {"content", choice.all.content}, {"refusal", nullptr}};
    if (!choice.all.thoughts.empty()) json["reasoning_content"] = choice.all.thoughts;
    if (choice.all.calls.empty()) return json;
    if (choice.all.content.empty()) json["content"] = nullptr;
    json["tool_calls"] = Json::array();
    for (const ToolCallDelta& call : choice.all.calls) {
      json["tool_calls"].push_back({{"id", call.id},
                                    {"type", "function"},
                                    {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    }
    return json;
  }

  AnswerIdentity identity_;
};

class TextShape : public AnswerShape {
 public:
  explicit TextShape(AnswerIdentity identity) : identity_(std::move(identity)) {}

  std::optional<Json> opening(size_t) const override { return std::nullopt; }
  Json chunk(size_t index, const Delta& delta) const override {
    if (index >= offsets_.size()) offsets_.resize(index + 1);
    return with_choice(frame(identity_, "text_completion"),
                       choice_json(index, delta, nullptr, offsets_[index]));
  }
  Json progress(size_t done, size_t total, size_t cached, double seconds) const override {
    Json json = chunk(0, {});
    json["prompt_progress"] = progress_json(done, total, cached, seconds);
    return json;
  }
  std::optional<Json> closing(size_t index, const Choice& choice, const Usage&) const override {
    size_t offset = 0;
    return with_choice(frame(identity_, "text_completion"),
                       choice_json(index, {}, finish_reason(choice.end), offset));
  }
  std::optional<Json> tail(const Usage& usage) const override {
    Json json = frame(identity_, "text_completion");
    json["choices"] = Json::array();
    json["usage"] = usage_json(usage);
    json["timings"] = timings_json(usage);
    return json;
  }
  Json whole(std::span<const Choice> choices, const Usage& usage) const override {
    Json json = frame(identity_, "text_completion");
    json["choices"] = Json::array();
    for (const Choice& choice : choices) {
      size_t offset = 0;
      json["choices"].push_back(
          choice_json(json["choices"].size(), choice.all, finish_reason(choice.end), offset));
    }
    json["usage"] = usage_json(usage);
    json["timings"] = timings_json(usage);
    return json;
  }

 private:
  static Json choice_json(size_t index, const Delta& delta, Json reason, size_t& offset) {
    return {{"text", delta.content},
            {"index", index},
            {"logprobs", logprobs(delta, offset)},
            {"finish_reason", std::move(reason)}};
  }
  // offset: bytes of the texts of the tokens before.
  static Json logprobs(const Delta& delta, size_t& offset) {
    if (delta.logprobs.empty()) return nullptr;
    Json json = {{"tokens", Json::array()},
                 {"token_logprobs", Json::array()},
                 {"top_logprobs", Json::array()},
                 {"text_offset", Json::array()}};
    for (const TokenLog& log : delta.logprobs) {
      json["tokens"].push_back(as_utf8(log.chosen.bytes));
      json["token_logprobs"].push_back(log.chosen.logprob);
      Json top = Json::object();
      for (const auto& one : log.top) top[as_utf8(one.bytes)] = one.logprob;
      json["top_logprobs"].push_back(std::move(top));
      json["text_offset"].push_back(offset);
      offset += log.chosen.bytes.size();
    }
    return json;
  }

  AnswerIdentity identity_;
  mutable std::vector<size_t> offsets_;  // of streams
};

class NativeShape : public AnswerShape {
 public:
  explicit NativeShape(AnswerIdentity identity) : identity_(std::move(identity)) {}

  std::optional<Json> opening(size_t) const override { return std::nullopt; }
  Json chunk(size_t index, const Delta& delta) const override {
    Json json = {{"index", index}, {"content", delta.content}, {"stop", false}};
    if (!delta.logprobs.empty()) json["completion_probabilities"] = logprobs_json(delta.logprobs, true);
    return json;
  }
  Json progress(size_t done, size_t total, size_t cached, double seconds) const override {
    Json json = chunk(0, {});
    json["prompt_progress"] = progress_json(done, total, cached, seconds);
    return json;
  }
  std::optional<Json> closing(size_t, const Choice& choice, const Usage& usage) const override {
    Choice without = choice;
    without.all = {};
    return final_json(without, usage);
  }
  std::optional<Json> tail(const Usage&) const override { return std::nullopt; }
  Json whole(std::span<const Choice> choices, const Usage& usage) const override {
    return final_json(choices.front(), usage);
  }
  bool ends_with_done() const override { return false; }

 private:
  Json final_json(const Choice& choice, const Usage& usage) const {
    Json json = {{"index", 0}, {"content", choice.all.content}, {"stop", true}};
    json["id_slot"] = usage.slot ? Json(*usage.slot) : Json(-1);
    json["model"] = identity_.model;
    json["tokens_predicted"] = usage.answer_tokens;
    json["tokens_evaluated"] = usage.prompt_tokens;
    json["tokens_cached"] = usage.cached_tokens;
    json["truncated"] = false;  // never: a prompt that does not fit is refused
    json["stop_type"] = choice.end == ChoiceEnd::kLength     ? "limit"
                        : choice.end == ChoiceEnd::kStopText ? "word"
                                                             : "eos";
    json["stopping_word"] = choice.stop_text;
    if (!choice.all.logprobs.empty())
      json["completion_probabilities"] = logprobs_json(choice.all.logprobs, true);
    json["timings"] = timings_json(usage);
    return json;
  }

  AnswerIdentity identity_;
};

}  // namespace

Json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.answer_tokens},
          {"total_tokens", usage.prompt_tokens + usage.answer_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
          {"completion_tokens_details", {{"reasoning_tokens", usage.thought_tokens}}}};
}

Json timings_json(const Usage& usage) {
  const auto evaluated = static_cast<double>(usage.prompt_tokens - usage.cached_tokens);
  const auto predicted = static_cast<double>(usage.answer_tokens);
  Json json = {{"cache_n", usage.cached_tokens},
               {"matched_n", usage.matched_tokens},
               {"prompt_n", usage.prompt_tokens - usage.cached_tokens},
               {"prompt_ms", usage.prompt_seconds * 1000},
               {"prompt_per_token_ms", per(usage.prompt_seconds * 1000, evaluated)},
               {"prompt_per_second", per(evaluated, usage.prompt_seconds)},
               {"predicted_n", usage.answer_tokens},
               {"predicted_ms", usage.answer_seconds * 1000},
               {"predicted_per_token_ms", per(usage.answer_seconds * 1000, predicted)},
               {"predicted_per_second", per(predicted, usage.answer_seconds)}};
  if (!usage.miss.empty()) json["cache_miss_reason"] = usage.miss;
  return json;
}

Json logprobs_json(std::span<const TokenLog> logs, bool with_id) {
  Json json = Json::array();
  for (const TokenLog& log : logs) {
    Json one = alternative_json(log.chosen, with_id);
    one["top_logprobs"] = Json::array();
    for (const auto& top : log.top) one["top_logprobs"].push_back(alternative_json(top, with_id));
    json.push_back(std::move(one));
  }
  return json;
}

std::unique_ptr<AnswerShape> chat_shape(AnswerIdentity identity) {
  return std::make_unique<ChatShape>(std::move(identity));
}
std::unique_ptr<AnswerShape> text_shape(AnswerIdentity identity) {
  return std::make_unique<TextShape>(std::move(identity));
}
std::unique_ptr<AnswerShape> native_shape(AnswerIdentity identity) {
  return std::make_unique<NativeShape>(std::move(identity));
}

}  // namespace oxbow::server
