#include "engine/batcher.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace oxbow::engine {
namespace {

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

Choice::Choice(Job& owner, size_t number, std::vector<TokenId> prompt)
    : job(owner), index(number), tokens(std::move(prompt)), prompt_tokens(tokens.size()), sampler([&] {
        SamplerSettings settings = owner.request.sampling;
        settings.seed = choice_seed(settings.seed, number);
        return settings;
      }()) {
  if (owner.request.constraint) constraint = owner.request.constraint->clone();
}

Batcher::Batcher(Engine& engine, const BatcherOptions& options)
    : engine_(engine),
      options_(options),
      footprint_(engine.memory()),
      slices_(options.slice_seconds),
      slots_(options.parallel) {
  for (size_t i = 0; i < slots_.size(); ++i) slots_[i].state.id = i;
}

Batcher::~Batcher() {
  cancel_all(FinishReason::kShutdown);
}

void Batcher::add(RequestId id, Request request, std::shared_ptr<Sink> sink, Clock::time_point submitted) {
  auto job = std::make_unique<Job>();
  job->id = id;
  job->request = std::move(request);
  job->sink = std::move(sink);
  job->submitted = submitted;
  job->open_choices = job->request.choices;
  job->bias = job->request.logit_bias;
  // A grammar knows better where the text may end.
  if (job->request.constraint) job->request.ignore_end = false;
  if (job->request.ignore_end) {
    for (const TokenId token : job->request.end_tokens)
      job->bias.push_back({token, -std::numeric_limits<float>::infinity()});
  }
  job->choices.push_back(std::make_unique<Choice>(*job, 0, std::move(job->request.prompt)));
  wait(*job->choices.front());
  jobs_.emplace(id, std::move(job));
  ++totals_.submitted;
}

void Batcher::add_internal(RequestId id, Request request, std::shared_ptr<Sink> sink,
                           std::function<void(SequenceId)> at_prompt_end) {
  add(id, std::move(request), std::move(sink), Clock::now());
  --totals_.submitted;
  jobs_.at(id)->at_prompt_end = std::move(at_prompt_end);
}

// ---- The end of requests

void Batcher::cancel(RequestId id, FinishReason reason) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  end(*found->second, reason);
  drop_finished();
}

void Batcher::cancel_all(FinishReason reason) {
  for (auto& [id, job] : jobs_) end(*job, reason);
  drop_finished();
}

void Batcher::expire(Clock::time_point now) {
  for (auto& [id, job] : jobs_) {
    if (job->request.deadline <= now) end(*job, FinishReason::kDeadline);
  }
  drop_finished();
}

Clock::time_point Batcher::next_deadline() const {
  Clock::time_point next = Clock::time_point::max();
  for (const auto& [id, job] : jobs_) next = std::min(next, job->request.deadline);
  return next;
}

// Ends all choices that are not done, those that were not made yet among them.
void Batcher::end(Job& job, FinishReason reason) {
  while (job.choices.size() < job.request.choices)
    job.choices.push_back(std::make_unique<Choice>(job, job.choices.size(), std::vector<TokenId>{}));
  for (const auto& choice : job.choices) {
    if (!choice->is_done) finish(*choice, reason);
  }
}

void Batcher::finish(Choice& choice, FinishReason reason) {
  OXBOW_CHECK(!choice.is_done);
  Job& job = choice.job;
  const Clock::time_point now = Clock::now();
  const bool was_stopped = reason == FinishReason::kCancelled || reason == FinishReason::kDeadline ||
                           reason == FinishReason::kShutdown;
  if (was_stopped) ++totals_.cancelled[static_cast<size_t>(choice.phase())];
  release(choice, true);
  choice.recall.reset();
  std::erase(waiting_, &choice);
  choice.is_done = true;
  ++totals_.finished[static_cast<size_t>(reason)];

  Finished finished;
  finished.choice = choice.index;
  finished.reason = reason;
  const bool has_tokens = choice.phase() == Phase::kDecode;
  const Clock::time_point started = job.started.value_or(now);
  const Clock::time_point first = has_tokens ? choice.first_token : now;
  finished.timings = {seconds_between(job.submitted, started), seconds_between(started, first),
                      seconds_between(first, now)};
  finished.prompt_tokens = job.choices.front()->prompt_tokens;
  finished.reused = job.reused;
  finished.generated = has_tokens ? choice.generated() + choice.ended : 0;
  finished.preemptions = choice.preemptions;
  totals_.decode_seconds += finished.timings.decode_seconds;
  totals_.request_time.add(seconds_between(job.submitted, now));
  job.sink->finished(finished);
  if (--job.open_choices == 0) finished_jobs_.push_back(job.id);
}

void Batcher::fail(Job& job, const Error& error) {
  for (const auto& choice : job.choices) {
    if (choice->is_done) continue;
    release(*choice, false);
    choice->recall.reset();
    std::erase(waiting_, choice.get());
    choice->is_done = true;
  }
  ++totals_.failed;
  job.sink->failed(error);
  job.open_choices = 0;
  finished_jobs_.push_back(job.id);
}

void Batcher::drop_finished() {
  for (const RequestId id : finished_jobs_) {
    const auto found = jobs_.find(id);
    for (Choice* waiting : waiting_) {
      if (waiting->leader != nullptr && &waiting->leader->job == found->second.get())
        waiting->leader = nullptr;
    }
    jobs_.erase(found);
  }
  finished_jobs_.clear();
}

// ---- A step

bool Batcher::step() {
  admit();
  drop_finished();
  if (running_.empty()) return false;
  const Clock::time_point begin = Clock::now();
  const auto logits = evaluate();
  if (!logits) {
    drop_finished();
    return true;
  }
  size_t decoding = 0;
  size_t prompt_tokens = 0;
  for (const Planned& planned : planned_) {
    if (planned.choice->missing() == 1) ++decoding;
    if (planned.choice->missing() > 1) prompt_tokens += planned.tokens;
  }
  const double seconds = seconds_between(begin, Clock::now());
  slices_.measure(decoding, prompt_tokens, seconds);
  ++totals_.steps;
  totals_.step_seconds += seconds;
  totals_.evaluated_tokens += decoding + prompt_tokens;
  after_step(*logits);
  update_slots();
  drop_finished();
  return true;
}

// Every sequence that lacks one token gets it; the others share a slice.
void Batcher::plan() {
  planned_.clear();
  entries_.clear();
  wanted_.clear();
  size_t decoding = 0;
  for (const Choice* choice : running_) {
    decoding += choice->missing() == 1 ? 1 : 0;
    wanted_.push_back(choice->missing() == 1 ? 0 : choice->missing());
  }
  given_.resize(wanted_.size());
  if (decoding < running_.size()) {
    const size_t limit = std::min(engine_.options().max_step_tokens - decoding, slice_limit_);
    share_fairly(wanted_, slices_.tokens(decoding, limit), turn_++ % running_.size(), given_);
  } else {
    std::ranges::fill(given_, size_t{0});
  }
  for (size_t i = 0; i < running_.size(); ++i) {
    Choice& choice = *running_[i];
    const size_t count = choice.missing() == 1 ? 1 : given_[i];
    if (count == 0) continue;
    planned_.push_back({&choice, count});
    const bool last = count == choice.missing();
    entries_.push_back({*choice.sequence, std::span<const TokenId>(choice.tokens).subspan(choice.held, count),
                        last ? Outputs::kLast : Outputs::kNone});
  }
}

// One step of the engine. When memory runs out, those who came last are moved out until it fits; when the
// oldest is alone, its slice shrinks. An error: it cannot go on at all, and was ended.
Result<std::span<const float>> Batcher::evaluate() {
  slice_limit_ = SIZE_MAX;
  for (;;) {
    plan();
    auto logits = engine_.step(entries_);
    if (logits) return logits;
    const bool is_full = logits.error().kind == ErrorKind::kOutOfBudget;
    Choice& oldest = *running_.front();
    if (is_full && running_.size() > 1) {
      preempt_youngest();
    } else if (is_full && planned_.front().tokens > 1) {
      slice_limit_ = planned_.front().tokens / 2;
    } else if (is_full && oldest.phase() == Phase::kDecode) {
      finish(oldest, FinishReason::kMemory);
      return logits;
    } else {
      fail(oldest.job, logits.error());
      return logits;
    }
  }
}

void Batcher::after_step(std::span<const float> logits) {
  const size_t vocabulary = engine_.model().vocabulary();
  for (const Planned& planned : planned_) {
    Choice& choice = *planned.choice;
    const bool has_logits = planned.tokens == choice.missing();
    const auto row = has_logits ? logits.first(vocabulary) : logits.first(0);
    logits = logits.subspan(row.size());
    choice.held += planned.tokens;
    if (choice.is_done) continue;  // it failed with another choice of its request
    const size_t done = std::min(choice.held, choice.prompt_tokens);
    if (choice.index == 0 && choice.generated() == 0 && done > choice.told) {
      choice.told = done;
      choice.job.sink->progress(done, choice.prompt_tokens);
    }
    if (has_logits) reach_end(choice, row);
  }
}

// The sequence holds all tokens: there is one to be chosen.
void Batcher::reach_end(Choice& choice, std::span<const float> logits) {
  Job& job = choice.job;
  if (job.at_prompt_end) {
    job.at_prompt_end(*choice.sequence);
    return finish(choice, FinishReason::kEnd);
  }
  if (choice.index == 0 && job.choices.size() < job.request.choices) fork_choices(choice, logits);
  if (!choice.is_done) choose(choice, logits);
}

void Batcher::choose(Choice& choice, std::span<const float> logits) {
  Job& job = choice.job;
  const Request& request = job.request;
  const Clock::time_point now = Clock::now();
  if (choice.first_token == Clock::time_point{}) {
    if (request.max_tokens == 0) return finish(choice, FinishReason::kLength);
    choice.first_token = now;
    totals_.time_to_first_token.add(seconds_between(job.submitted, now));
    if (choice.index == 0) totals_.prompt_seconds += seconds_between(*job.started, now);
  } else {
    totals_.between_tokens.add(seconds_between(choice.last_token, now));
  }
  choice.last_token = now;
  SampleContext context{choice.tokens, choice.answer(), job.bias, {}};
  if (choice.constraint) context.mask = choice.constraint->mask();
  TokenEvent event{choice.index, choice.sampler.choose(logits, context), 0, {}};
  ++totals_.generated_tokens;
  if (!request.ignore_end && std::ranges::find(request.end_tokens, event.token) != request.end_tokens.end()) {
    choice.ended = 1;
    return finish(choice, FinishReason::kEnd);
  }
  if (choice.constraint) {
    if (const Status accepted = choice.constraint->accept(event.token); !accepted)
      return fail(job, accepted.error());
  }
  choice.tokens.push_back(event.token);
  if (request.logprobs) {
    logprobs_.read(logits);
    event.logprob = logprobs_.of(event.token);
    event.top = logprobs_.top(request.top_logprobs);
  }
  if (job.sink->token(event) == Sink::Next::kStop) return finish(choice, FinishReason::kStopped);
  if (choice.constraint && choice.constraint->is_complete()) return finish(choice, FinishReason::kEnd);
  if (choice.generated() >= request.max_tokens || choice.tokens.size() >= options_.context_tokens)
    return finish(choice, FinishReason::kLength);
}

// ---- What can be seen

void Batcher::update_slots() {
  for (Slot& slot : slots_) {
    if (slot.choice == nullptr) continue;
    slot.state.phase = slot.choice->phase();
    slot.state.prompt_done = std::min(slot.choice->held, slot.choice->prompt_tokens);
    slot.state.generated = slot.choice->generated();
  }
}

void Batcher::report(Statistics& statistics) const {
  statistics.queued = 0;
  statistics.waiting = 0;
  for (const Choice* choice : waiting_) ++(choice->job.started ? statistics.waiting : statistics.queued);
  statistics.running = running_.size();
  statistics.slots.resize(slots_.size());
  for (size_t i = 0; i < slots_.size(); ++i) statistics.slots[i] = slots_[i].state;
  statistics.totals = totals_;
}

}  // namespace oxbow::engine
