#include "engine/scheduler.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <variant>

#include "base/start_thread.h"
#include "engine/batcher.h"
#include "engine/slot_operations.h"

namespace oxbow::engine {
namespace {

constexpr size_t kMostChoices = 128;
constexpr size_t kMostTopLogprobs = 100;
constexpr auto kMemoryUseEvery = std::chrono::seconds(1);

tl::unexpected<Refusal> refuse(RefusalKind kind, std::string message) {
  return tl::unexpected<Refusal>(Refusal{kind, std::move(message)});
}

// Empty when the request keeps its rules.
std::string broken_rule(const Request& request, size_t vocabulary) {
  if (request.prompt.empty()) return "the prompt has no tokens";
  const auto is_known = [&](TokenId token) { return token >= 0 && static_cast<size_t>(token) < vocabulary; };
  for (const TokenId token : request.prompt) {
    if (!is_known(token))
      return fmt::format("token {} is outside the vocabulary of {} tokens", token, vocabulary);
  }
  for (const LogitBias& bias : request.logit_bias) {
    if (!is_known(bias.token))
      return fmt::format("logit bias: token {} is outside the vocabulary of {} tokens", bias.token,
                         vocabulary);
    if (std::isnan(bias.bias) || bias.bias == std::numeric_limits<float>::infinity())
      return fmt::format("logit bias: {} for token {}", bias.bias, bias.token);
  }
  if (!std::ranges::is_sorted(request.boundaries)) return "the boundaries do not ascend";
  if (request.choices < 1 || request.choices > kMostChoices)
    return fmt::format("{} choices are asked for, expected 1 to {}", request.choices, kMostChoices);
  if (request.top_logprobs > kMostTopLogprobs)
    return fmt::format("{} alternatives are asked for, expected {} at most", request.top_logprobs,
                       kMostTopLogprobs);
  if (const Status checked = request.sampling.check(); !checked) return checked.error().message;
  return {};
}

}  // namespace

// What the callers' threads and the engine's thread share; the engine and the batcher are the latter's alone.
struct Scheduler::Shared {
  Shared(std::unique_ptr<Engine> given, const SchedulerOptions& wanted)
      : options(wanted),
        model(&given->model()),
        footprint(given->memory()),
        engine(std::move(given)),
        batcher(std::make_unique<Batcher>(
            *engine, BatcherOptions{options.parallel, options.context_tokens,
                                    std::chrono::duration<double>(options.prompt_slice).count()})) {
    publish();
  }

  struct Submitted {
    RequestId id;
    Request request;
    std::shared_ptr<Sink> sink;
    Clock::time_point time;
  };
  using Work = std::function<void(Shared&, bool stopped)>;  // stopped: it can only be refused

  void run();
  bool take_inbox();
  void finish_drain();
  void stop_all();
  void publish();
  void post(Work work);

  const SchedulerOptions options;
  const model::Model* model;
  const Footprint footprint;

  // The engine's thread alone.
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Batcher> batcher;
  std::vector<Submitted> taken_submits;
  std::vector<RequestId> taken_cancels;
  std::vector<Work> taken_work;
  Clock::time_point memory_use_time{};

  std::mutex mutex;
  std::condition_variable wake;
  // Under the mutex.
  std::vector<Submitted> submits;
  std::vector<RequestId> cancels;
  std::vector<Work> work;
  RequestId next_id = 1;
  size_t queued = 0;
  uint64_t refused_full = 0;
  bool stop = false;
  bool draining = false;
  Clock::time_point drain_deadline = Clock::time_point::max();
  std::vector<std::function<void()>> drained;
  bool memory_use_wanted = true;
  Statistics statistics;

  std::thread thread;  // last: it uses all of the above
};

// ---- The engine's thread

void Scheduler::Shared::run() {
  while (take_inbox()) {
    const Clock::time_point now = Clock::now();
    batcher->expire(now);
    bool is_late = false;
    {
      const std::lock_guard lock(mutex);
      is_late = draining && now >= drain_deadline;
    }
    if (is_late) batcher->cancel_all(FinishReason::kShutdown);
    if (!batcher->step()) batcher->wait_for_stores();
    publish();
    if (batcher->is_idle()) finish_drain();
  }
  stop_all();
}

// Waits until there is something to do; false when the scheduler is being destroyed.
bool Scheduler::Shared::take_inbox() {
  {
    std::unique_lock lock(mutex);
    const auto has_news = [&] { return stop || !submits.empty() || !cancels.empty() || !work.empty(); };
    if (batcher->is_idle() && !has_news()) {
      if (draining && !drained.empty()) return true;
      wake.wait(lock, has_news);
    }
    if (stop) return false;
    taken_submits.swap(submits);
    taken_cancels.swap(cancels);
    taken_work.swap(work);
  }
  for (Submitted& one : taken_submits)
    batcher->add(one.id, std::move(one.request), std::move(one.sink), one.time);
  for (const RequestId id : taken_cancels) batcher->cancel(id, FinishReason::kCancelled);
  for (Work& one : taken_work) one(*this, false);
  taken_submits.clear();
  taken_cancels.clear();
  taken_work.clear();
  return true;
}

void Scheduler::Shared::finish_drain() {
  std::vector<std::function<void()>> callbacks;
  {
    const std::lock_guard lock(mutex);
    if (!draining || !submits.empty()) return;
    callbacks.swap(drained);
  }
  for (const auto& callback : callbacks) callback();
}

void Scheduler::Shared::stop_all() {
  {
    const std::lock_guard lock(mutex);
    taken_submits.swap(submits);
    taken_work.swap(work);
  }
  for (Submitted& one : taken_submits)
    batcher->add(one.id, std::move(one.request), std::move(one.sink), one.time);
  batcher->cancel_all(FinishReason::kShutdown);
  for (Work& one : taken_work) one(*this, true);
  std::vector<std::function<void()>> callbacks;
  {
    const std::lock_guard lock(mutex);
    callbacks.swap(drained);
  }
  for (const auto& callback : callbacks) callback();
  batcher.reset();
  engine.reset();
}

void Scheduler::Shared::publish() {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex);
  batcher->report(statistics);
  queued = statistics.queued + submits.size();
  statistics.budget_bytes = engine->memory().pool().budget_bytes();
  statistics.used_bytes = engine->memory().pool().used_bytes();
  if (memory_use_wanted && now - memory_use_time >= kMemoryUseEvery) {
    statistics.memory = engine->memory().use();
    memory_use_wanted = false;
    memory_use_time = now;
  }
}

void Scheduler::Shared::post(Work one) {
  const std::lock_guard lock(mutex);
  work.push_back(std::move(one));
  wake.notify_one();
}

// ---- Any thread

Result<std::unique_ptr<Scheduler>> Scheduler::create(std::unique_ptr<Engine> engine,
                                                     const SchedulerOptions& given) {
  SchedulerOptions options = given;
  const EngineOptions& limits = engine->options();
  if (options.parallel == 0) return fail(ErrorKind::kInvalidInput, "no sequence may run");
  if (limits.max_outputs < options.parallel) {
    return fail(ErrorKind::kInvalidInput,
                "{} parallel sequences need as many rows of logits; the engine gives {}", options.parallel,
                limits.max_outputs);
  }
  if (options.context_tokens == 0) options.context_tokens = engine->model().context_length();
  auto shared = std::make_unique<Shared>(std::move(engine), options);
  OXBOW_ASSIGN(shared->thread, start_thread([running = shared.get()] { running->run(); }));
  return std::unique_ptr<Scheduler>(new Scheduler(std::move(shared)));
}

Scheduler::Scheduler(std::unique_ptr<Shared> shared) : shared_(std::move(shared)) {}

Scheduler::~Scheduler() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
  }
  shared_->wake.notify_one();
  shared_->thread.join();
}

const model::Model& Scheduler::model() const {
  return *shared_->model;
}

const SchedulerOptions& Scheduler::options() const {
  return shared_->options;
}

tl::expected<RequestId, Refusal> Scheduler::submit(Request request, std::shared_ptr<Sink> sink) {
  Shared& shared = *shared_;
  if (std::string rule = broken_rule(request, shared.model->vocabulary()); !rule.empty())
    return refuse(RefusalKind::kInvalid, std::move(rule));
  const size_t tokens = request.prompt.size();
  if (tokens >= shared.options.context_tokens) {
    return refuse(RefusalKind::kTooLarge,
                  fmt::format("the prompt has {} tokens; the context holds {}, answer included", tokens,
                              shared.options.context_tokens));
  }
  const size_t bytes = shared.footprint.sequence_bytes(tokens + 1);
  if (bytes > shared.footprint.capacity_bytes()) {
    return refuse(
        RefusalKind::kTooLarge,
        fmt::format("the prompt of {} tokens needs {} bytes of memory; the budget of {} bytes leaves {}",
                    tokens, bytes, shared.footprint.budget_bytes(), shared.footprint.capacity_bytes()));
  }
  const std::lock_guard lock(shared.mutex);
  if (shared.draining || shared.stop)
    return refuse(RefusalKind::kShuttingDown, "the server is shutting down");
  if (shared.queued >= shared.options.queue_limit) {
    ++shared.refused_full;
    return refuse(RefusalKind::kQueueFull,
                  fmt::format("{} requests wait already; no more are taken", shared.queued));
  }
  const RequestId id = shared.next_id++;
  shared.submits.push_back({id, std::move(request), std::move(sink), Clock::now()});
  ++shared.queued;
  shared.wake.notify_one();
  return id;
}

void Scheduler::cancel(RequestId request) {
  const std::lock_guard lock(shared_->mutex);
  shared_->cancels.push_back(request);
  shared_->wake.notify_one();
}

void Scheduler::drain(Clock::time_point deadline, std::function<void()> done) {
  shared_->post([deadline, done = std::move(done)](Shared& shared, bool) {
    const std::lock_guard lock(shared.mutex);
    shared.drain_deadline = std::min(shared.drain_deadline, deadline);
    shared.drained.push_back(done ? done : [] {});
  });
  const std::lock_guard lock(shared_->mutex);
  shared_->draining = true;
}

bool Scheduler::is_draining() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->draining;
}

Statistics Scheduler::statistics() const {
  const std::lock_guard lock(shared_->mutex);
  shared_->memory_use_wanted = true;
  Statistics copy = shared_->statistics;
  copy.queued = shared_->queued;
  copy.queue_limit = shared_->options.queue_limit;
  copy.draining = shared_->draining;
  copy.totals.refused_full = shared_->refused_full;
  return copy;
}

namespace {

tl::unexpected<Error> stopped_error() {
  return fail(ErrorKind::kInvalidState, "the scheduler has stopped");
}

}  // namespace

void Scheduler::save(size_t slot, std::string path, std::string partition, SlotCallback done) {
  shared_->post([=, path = std::move(path), partition = std::move(partition), done = std::move(done)](
                    Shared& shared, bool stopped) {
    if (stopped) return done(stopped_error());
    RequestId id = 0;
    {
      const std::lock_guard lock(shared.mutex);
      id = shared.next_id++;
    }
    save_slot(*shared.engine, *shared.batcher, id, slot, path, partition, done);
  });
}

void Scheduler::restore(size_t slot, std::string path, std::string partition, SlotCallback done) {
  shared_->post([=, path = std::move(path), partition = std::move(partition), done = std::move(done)](
                    Shared& shared, bool stopped) {
    if (stopped) return done(stopped_error());
    done(restore_slot(*shared.engine, *shared.batcher, slot, path, partition));
  });
}

void Scheduler::erase(size_t slot, std::string partition, SlotCallback done) {
  shared_->post([=, partition = std::move(partition), done = std::move(done)](Shared& shared, bool stopped) {
    if (stopped) return done(stopped_error());
    done(erase_slot(*shared.engine, *shared.batcher, slot, partition));
  });
}

void Scheduler::inspect(std::function<void(Engine&)> function) {
  shared_->post([function = std::move(function)](Shared& shared, bool stopped) {
    if (!stopped) function(*shared.engine);
  });
}

}  // namespace oxbow::engine
