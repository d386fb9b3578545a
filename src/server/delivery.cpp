#include "server/delivery.h"

#include <iterator>

namespace oxbow::server {
namespace {

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Calls stay one entry each.
void append_calls(std::vector<ToolCallDelta>& calls, const std::vector<ToolCallDelta>& deltas) {
  for (const ToolCallDelta& delta : deltas) {
    if (calls.empty() || calls.back().index != delta.index) {
      calls.push_back(delta);
    } else {
      calls.back().arguments += delta.arguments;
    }
  }
}

void append(Delta& all, const Delta& delta) {
  all.content += delta.content;
  all.thoughts += delta.thoughts;
  append_calls(all.calls, delta.calls);
  append(all.logprobs, delta.logprobs);
}

}  // namespace

Delivery::Delivery(std::shared_ptr<Exchange> exchange, std::unique_ptr<const AnswerShape> shape,
                   DeliveryOptions options)
    : exchange_(std::move(exchange)),
      shape_(std::move(shape)),
      options_(std::move(options)),
      prompts_left_(options_.prompts),
      choices_(options_.choices) {}

void Delivery::admit(const std::function<std::optional<ErrorAnswer>()>& submit) {
  const std::lock_guard lock(mutex_);
  const auto error = submit();
  if (!error) return open_locked();
  ended_ = true;
  exchange_->respond(error_response(*error));
}

void Delivery::open_locked() {
  if (opened_ || ended_) return;
  opened_ = true;
  if (options_.stream) exchange_->start({});
  for (size_t i = 0; i < options_.choices; ++i) {
    Delta echo;
    if (i < options_.echo.size()) echo.content = options_.echo[i];
    if (!options_.stream) {
      append(choices_[i].all, echo);
      continue;
    }
    if (const auto opening = shape_->opening(i)) send(*opening);
    if (!echo.empty()) send(shape_->chunk(i, echo));
  }
}

void Delivery::send(const Json& json) {
  if (!exchange_->send_event(to_text(json))) ended_ = true;
}

void Delivery::progress(size_t done, size_t total, size_t cached, double seconds) {
  const std::lock_guard lock(mutex_);
  if (ended_ || !wants_progress()) return;
  open_locked();
  send(shape_->progress(done, total, cached, seconds));
}

bool Delivery::add(size_t index, const Delta& delta, const Usage* so_far) {
  const std::lock_guard lock(mutex_);
  if (ended_) return false;
  open_locked();
  if (!options_.stream) {
    append(choices_[index].all, delta);
    return exchange_->is_open();
  }
  if (delta.empty()) return exchange_->is_open();
  if (!delta.calls.empty()) append_calls(choices_[index].all.calls, delta.calls);
  Json json = shape_->chunk(index, delta);
  if (so_far != nullptr) json["timings"] = timings_json(*so_far);
  send(json);
  return !ended_;
}

void Delivery::close(size_t index, ChoiceEnd end, std::string stop_text) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  Choice& choice = choices_[index];
  choice.end = end;
  choice.stop_text = std::move(stop_text);
  // A call that was cut off is none that a client could make.
  if (!choice.all.calls.empty() && end != ChoiceEnd::kLength) choice.end = ChoiceEnd::kToolCalls;
}

void Delivery::complete(const Usage& usage) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  open_locked();
  usage_.prompt_tokens += usage.prompt_tokens;
  usage_.cached_tokens += usage.cached_tokens;
  usage_.matched_tokens += usage.matched_tokens;
  usage_.answer_tokens += usage.answer_tokens;
  usage_.thought_tokens += usage.thought_tokens;
  usage_.prompt_seconds += usage.prompt_seconds;
  usage_.answer_seconds += usage.answer_seconds;
  usage_.miss = usage.miss;
  if (options_.prompts == 1) usage_.slot = usage.slot;
  if (--prompts_left_ == 0) finish();
}

void Delivery::finish() {
  if (!options_.stream) {
    exchange_->respond({.body = to_text(shape_->whole(choices_, usage_))});
  } else {
    for (size_t i = 0; i < choices_.size(); ++i)
      if (const auto closing = shape_->closing(i, choices_[i], usage_)) send(*closing);
    if (options_.include_usage)
      if (const auto tail = shape_->tail(usage_)) send(*tail);
    if (shape_->ends_with_done()) (void)exchange_->send_event("[DONE]");
    exchange_->finish();
  }
  ended_ = true;
}

void Delivery::fail(const ErrorAnswer& error) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  ended_ = true;
  if (!options_.stream || !opened_) return exchange_->respond(error_response(error));
  (void)exchange_->send_event(error_json(error));
  exchange_->finish();
}

}  // namespace oxbow::server
