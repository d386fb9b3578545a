#include "server/generation.h"

#include <chrono>
#include <ctime>
#include <random>

namespace oxbow::server {
namespace {

using engine::Clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

ErrorAnswer shutting_down(std::string message) {
  return {.status = 503, .code = "shutting_down", .message = std::move(message), .retry_after = 5};
}

ErrorAnswer refusal_answer(const engine::Refusal& refusal) {
  switch (refusal.kind) {
    case engine::RefusalKind::kQueueFull:
      return {.status = 429, .code = "queue_full", .message = refusal.message, .retry_after = 1};
    case engine::RefusalKind::kShuttingDown:
      return shutting_down(refusal.message);
    case engine::RefusalKind::kTooLarge:
      return {.code = "context_length_exceeded",
              .message = refusal.message + "; the server's --ctx-size and --cache-ram raise it",
              .parameter = "prompt"};
    default:
      return {.code = "invalid_value", .message = refusal.message};
  }
}

// An error of the engine, after the request was taken.
ErrorAnswer failure_answer(const Error& error) {
  if (error.kind == ErrorKind::kInvalidInput) return {.code = "invalid_value", .message = error.message};
  return {.status = 500, .code = "internal_error", .message = error.message, .should_retry = false};
}

// The requests of one exchange, so that all can be cancelled. Any thread.
class Running {
 public:
  void add(engine::Scheduler& scheduler, engine::RequestId id) {
    const std::lock_guard lock(mutex_);
    ids_.push_back(id);
    if (cancelled_) scheduler.cancel(id);
  }
  void cancel(engine::Scheduler& scheduler) {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    for (const engine::RequestId id : ids_) scheduler.cancel(id);
  }

 private:
  std::mutex mutex_;
  std::vector<engine::RequestId> ids_;
  bool cancelled_ = false;
};

// One prompt's answers, on the scheduler's thread. The scheduler owns it and is a part of the service: a sink
// that owned the service could end up destroying the scheduler on the scheduler's own thread.
class AnswerSink : public engine::Sink {
 public:
  AnswerSink(const Service& service, std::shared_ptr<Delivery> delivery, std::shared_ptr<Running> running,
             const AnswerTextOptions& text, size_t first, size_t choices, bool logprobs)
      : service_(service),
        delivery_(std::move(delivery)),
        running_(std::move(running)),
        first_(first),
        logprobs_(logprobs) {
    for (size_t i = 0; i < choices; ++i) texts_.emplace_back(*service_.tokenizer, text);
    left_ = choices;
  }

  void started(const engine::Started& started) override {
    start_ = Clock::now();
    usage_.prompt_tokens = started.prompt_tokens;
    usage_.cached_tokens = started.reused;
    usage_.matched_tokens = started.matched;
    usage_.miss = memory::miss_name(started.miss);
    usage_.slot = started.slot;
    delivery_->progress(started.reused, started.prompt_tokens, started.reused, 0);
  }

  void progress(size_t done, size_t total) override {
    delivery_->progress(done, total, usage_.cached_tokens, seconds_since(start_));
  }

  Next token(const engine::TokenEvent& event) override {
    AnswerText& text = texts_[event.choice];
    if (usage_.answer_tokens++ == 0) {
      usage_.prompt_seconds = seconds_since(start_);
      first_token_ = Clock::now();
    }
    const Delta delta = text.push(event, logprobs_);
    const Usage* timings = nullptr;
    if (delivery_->wants_timings()) {
      usage_.answer_seconds = seconds_since(first_token_);
      timings = &usage_;
    }
    const bool wanted = delivery_->add(first_ + event.choice, delta, timings);
    return wanted && !text.stopped() ? Next::kContinue : Next::kStop;
  }

  void finished(const engine::Finished& finished) override {
    using Reason = engine::FinishReason;
    if (finished.reason == Reason::kShutdown) return stop(shutting_down("the server is shutting down"));
    if (finished.reason == Reason::kDeadline || finished.reason == Reason::kCancelled) {
      return stop({.status = 500,
                   .code = "internal_error",
                   .message = "the request was cancelled",
                   .should_retry = false});
    }
    AnswerText& text = texts_[finished.choice];
    delivery_->add(first_ + finished.choice, text.finish());
    const bool cut = finished.reason == Reason::kLength || finished.reason == Reason::kMemory;
    const ChoiceEnd end = text.stopped() ? ChoiceEnd::kStopText : cut ? ChoiceEnd::kLength : ChoiceEnd::kStop;
    delivery_->close(first_ + finished.choice, end, text.stop_text());
    usage_.thought_tokens += text.thought_tokens();
    if (--left_ > 0) return;
    if (usage_.answer_tokens > 0) usage_.answer_seconds = seconds_since(first_token_);
    delivery_->complete(usage_);
  }

  void failed(const Error& error) override { stop(failure_answer(error)); }

 private:
  void stop(const ErrorAnswer& error) {
    delivery_->fail(error);
    running_->cancel(*service_.scheduler);
  }

  const Service& service_;
  const std::shared_ptr<Delivery> delivery_;
  const std::shared_ptr<Running> running_;
  const size_t first_;
  const bool logprobs_;
  std::vector<AnswerText> texts_;
  size_t left_ = 0;
  Usage usage_;
  Clock::time_point start_{}, first_token_{};
};

uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

engine::Request engine_request(const Service& service, const GenerationRequest& request,
                               PreparedPrompt& prompt, std::string partition, uint64_t seed) {
  engine::Request out;
  out.prompt = std::move(prompt.tokens);
  out.boundaries = std::move(prompt.boundaries);
  out.partition = std::move(partition);
  out.sampling = request.sampling;
  out.sampling.seed = seed;
  out.logit_bias = request.logit_bias;
  if (request.max_tokens) out.max_tokens = *request.max_tokens;
  out.choices = request.choices;
  out.logprobs = request.logprobs;
  out.top_logprobs = request.top_logprobs;
  out.end_tokens = std::move(prompt.end_tokens);
  const auto ends = service.tokenizer->vocabulary().end_of_generation();
  out.end_tokens.insert(out.end_tokens.end(), ends.begin(), ends.end());
  out.ignore_end = request.ignore_eos;
  out.constraint = std::move(prompt.constraint);
  out.cache_prompt = request.cache_prompt;
  out.slot = request.slot;
  return out;
}

// Ids of tokens and slots that this model does not have.
std::optional<ErrorAnswer> outside_of_model(const Service& service, const GenerationRequest& request) {
  const size_t vocabulary = service.tokenizer->vocabulary().size();
  for (const engine::LogitBias& bias : request.logit_bias) {
    if (static_cast<size_t>(bias.token) >= vocabulary) {
      return invalid_value("logit_bias", fmt::format("'logit_bias' names token {}; the vocabulary has {}",
                                                     bias.token, vocabulary));
    }
  }
  const size_t slots = service.scheduler->options().parallel;
  if (request.slot.value_or(0) >= slots) {
    return invalid_value("id_slot",
                         fmt::format("'id_slot' is {}; expected 0 to {}", *request.slot, slots - 1));
  }
  return std::nullopt;
}

std::optional<ErrorAnswer> too_long(const Service& service, const PreparedPrompt& prompt) {
  const size_t context = service.scheduler->options().context_tokens;
  if (prompt.tokens.empty()) return invalid_value(prompt.field, "the prompt has no tokens");
  if (prompt.tokens.size() < context) return std::nullopt;
  return ErrorAnswer{
      .code = "context_length_exceeded",
      .message = fmt::format("the prompt has {} tokens, the context holds {} with the answer: shorten it, or "
                             "start the server with --ctx-size {} or more",
                             prompt.tokens.size(), context, prompt.tokens.size() + 1),
      .parameter = prompt.field};
}

}  // namespace

std::string random_name(size_t size) {
  constexpr std::string_view kSigns = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::random_device device;
  std::uniform_int_distribution<size_t> sign(0, kSigns.size() - 1);
  std::string name;
  for (size_t i = 0; i < size; ++i) name += kSigns[sign(device)];
  return name;
}

AnswerIdentity new_identity(const Service& service, std::string_view prefix) {
  return {.id = fmt::format("{}{}", prefix, random_name(24)),
          .created = std::time(nullptr),
          .model = service.options.model_id,
          .fingerprint = service.fingerprint};
}

void start_generation(const std::shared_ptr<const Service>& service, std::shared_ptr<Exchange> exchange,
                      const GenerationRequest& request, std::vector<PreparedPrompt> prompts,
                      std::unique_ptr<const AnswerShape> shape, std::vector<std::string> echo) {
  if (const auto error = outside_of_model(*service, request))
    return exchange->respond(error_response(*error));
  for (const PreparedPrompt& prompt : prompts) {
    if (const auto error = too_long(*service, prompt)) return exchange->respond(error_response(*error));
  }
  engine::Scheduler& scheduler = *service->scheduler;
  const bool shared = service->options.cache_shared;
  const std::string partition = partition_of(shared ? "" : exchange->request().client, request.cache_salt);
  const auto delivery =
      std::make_shared<Delivery>(exchange, std::move(shape),
                                 DeliveryOptions{.stream = request.stream,
                                                 .include_usage = request.include_usage,
                                                 .return_progress = request.return_progress,
                                                 .timings_per_token = request.timings_per_token,
                                                 .choices = prompts.size() * request.choices,
                                                 .prompts = prompts.size(),
                                                 .echo = std::move(echo)});
  const auto running = std::make_shared<Running>();
  const uint64_t seed = request.seed.value_or(random_seed());
  std::optional<ErrorAnswer> refused;
  delivery->admit([&] {
    for (size_t i = 0; i < prompts.size() && !refused; ++i) {
      auto sink = std::make_shared<AnswerSink>(*service, delivery, running, prompts[i].text,
                                               i * request.choices, request.choices, request.logprobs);
      const auto id = scheduler.submit(engine_request(*service, request, prompts[i], partition,
                                                      engine::choice_seed(seed, i * request.choices)),
                                       std::move(sink));
      if (id) {
        running->add(scheduler, *id);
      } else {
        refused = refusal_answer(id.error());
      }
    }
    return refused;
  });
  if (refused) return running->cancel(scheduler);
  exchange->on_gone([running, weak = std::weak_ptr<const Service>(service)] {
    if (const auto alive = weak.lock()) running->cancel(*alive->scheduler);
  });
}

}  // namespace oxbow::server
