#include "server/metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "server/prometheus.h"

namespace oxbow::server {
namespace {

using Kind = PrometheusText::Kind;

void add_histogram(PrometheusText& out, const char* name, const char* help,
                   const engine::Histogram& histogram) {
  out.family(name, Kind::kHistogram, help);
  out.histogram(engine::Histogram::bounds(), histogram.buckets(), histogram.sum_seconds());
}

void add_requests(PrometheusText& out, const engine::Statistics& s) {
  const engine::Totals& t = s.totals;
  out.gauge("num_requests_running", "Choices that hold a slot", static_cast<double>(s.running));
  out.gauge("num_requests_waiting", "Requests that wait for a slot", static_cast<double>(s.queued));
  out.gauge("num_requests_preempted", "Choices that were moved out of memory, or wait to be forked",
            static_cast<double>(s.waiting));
  out.gauge("queue_limit", "Requests that may wait", static_cast<double>(s.queue_limit));
  out.counter("requests_submitted_total", "Requests that the scheduler took",
              static_cast<double>(t.submitted));
  out.counter("requests_refused_total", "Requests that found the queue full",
              static_cast<double>(t.refused_full));
  out.counter("requests_failed_total", "Requests that ended with an error", static_cast<double>(t.failed));
  out.counter("num_preemptions_total", "Times that a choice made room for others",
              static_cast<double>(t.preemptions));
  out.family("request_success_total", Kind::kCounter, "Choices that ended, by reason");
  for (size_t i = 0; i < t.finished.size(); ++i) {
    out.sample(static_cast<double>(t.finished[i]),
               {{"finished_reason", engine::finish_name(static_cast<engine::FinishReason>(i))}});
  }
  out.family("requests_cancelled_total", Kind::kCounter,
             "Choices that were cancelled or timed out, by phase");
  static constexpr const char* kPhaseNames[engine::kPhases] = {"queued", "prefill", "decode"};
  for (size_t i = 0; i < engine::kPhases; ++i) {
    out.sample(static_cast<double>(t.cancelled[i]), {{"phase", kPhaseNames[i]}});
  }
}

void add_tokens(PrometheusText& out, const engine::Totals& t) {
  out.counter("prompt_tokens_total", "Tokens of prompts, reused ones included",
              static_cast<double>(t.prompt_tokens));
  out.counter("generation_tokens_total", "Tokens of answers", static_cast<double>(t.generated_tokens));
  out.counter("evaluated_tokens_total", "Tokens that the model evaluated",
              static_cast<double>(t.evaluated_tokens));
  out.counter("cache_hit_tokens_total", "Tokens of prompts that were reused",
              static_cast<double>(t.cached_tokens));
  out.family("cache_miss_tokens_total", Kind::kCounter, "Tokens of prompts that were not reused, by reason");
  for (size_t i = 0; i < t.missed_tokens.size(); ++i) {
    std::string reason(memory::miss_name(static_cast<memory::Miss>(i)));
    for (char& c : reason) c = c == ' ' || c == '-' ? '_' : c;
    out.sample(static_cast<double>(t.missed_tokens[i]), {{"reason", reason}});
  }
  out.counter("steps_total", "Steps of the model", static_cast<double>(t.steps));
  out.counter("step_seconds_total", "Seconds in steps", t.step_seconds);
  out.counter("prompt_seconds_total", "Seconds that requests spent in their prompts", t.prompt_seconds);
  out.counter("decode_seconds_total", "Seconds that choices spent in decoding", t.decode_seconds);
}

void add_times(PrometheusText& out, const engine::Totals& t) {
  add_histogram(out, "request_queue_time_seconds", "From the request to its first step", t.queue_time);
  add_histogram(out, "time_to_first_token_seconds", "From the request to its first token",
                t.time_to_first_token);
  add_histogram(out, "inter_token_latency_seconds", "Between the tokens of an answer", t.between_tokens);
  add_histogram(out, "e2e_request_latency_seconds", "From the request to the end of its answer",
                t.request_time);
}

void add_memory(PrometheusText& out, const engine::Statistics& s, std::span<const TierUse> tiers) {
  const memory::MemoryUse& use = s.memory;
  out.family("memory_bytes", Kind::kGauge, "Bytes in use, by kind and tier");
  out.sample(static_cast<double>(use.scratch_bytes), {{"tier", "ram"}, {"kind", "scratch"}});
  out.sample(static_cast<double>(use.sequence_bytes), {{"tier", "ram"}, {"kind", "sequences"}});
  out.sample(static_cast<double>(use.checkpoint_bytes), {{"tier", "ram"}, {"kind", "checkpoints"}});
  for (const TierUse& tier : tiers) {
    out.sample(static_cast<double>(tier.bytes), {{"tier", tier.name}, {"kind", "checkpoints"}});
  }
  out.gauge("memory_budget_bytes", "Bytes that memory may use", static_cast<double>(s.budget_bytes));
  out.gauge("memory_used_bytes", "Bytes that memory uses", static_cast<double>(s.used_bytes));
  out.gauge("state_checkpoints", "Checkpoints that memory keeps", static_cast<double>(use.checkpoints));
  out.gauge("sequences", "Sequences that memory holds", static_cast<double>(use.sequences));
  if (tiers.empty()) return;
  out.family("store_gets_total", Kind::kCounter, "Questions to a store, by result");
  for (const TierUse& tier : tiers) {
    out.sample(static_cast<double>(tier.hits), {{"tier", tier.name}, {"result", "hit"}});
    out.sample(static_cast<double>(tier.misses), {{"tier", tier.name}, {"result", "miss"}});
    out.sample(static_cast<double>(tier.refused), {{"tier", tier.name}, {"result", "refused"}});
  }
  out.family("store_lost_puts_total", Kind::kCounter, "Objects that did not get to a store, by reason");
  for (const TierUse& tier : tiers) {
    out.sample(static_cast<double>(tier.failures), {{"tier", tier.name}, {"reason", "failed"}});
    out.sample(static_cast<double>(tier.dropped), {{"tier", tier.name}, {"reason", "queue_full"}});
  }
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

void add_process(PrometheusText& out) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  out.counter("process_cpu_seconds_total", "Seconds of processor time",
              seconds(usage.ru_utime) + seconds(usage.ru_stime));
  size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  out.gauge("process_resident_memory_bytes", "Resident memory", static_cast<double>(resident) * page);
  size_t descriptors = 0;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    ++descriptors;
  }
  out.gauge("process_open_fds", "Open file descriptors", static_cast<double>(descriptors));
}

}  // namespace

void Metrics::count(const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  ++requests_[{std::string(outcome.route), outcome.status}];
  durations_.add(outcome.duration.count());
  request_bytes_ += outcome.request_bytes;
  response_bytes_ += outcome.response_bytes;
}

std::string Metrics::text(const MetricsView& view) const {
  PrometheusText out;
  out.gauge("ready", "1 when the model is loaded and the server does not drain", view.ready ? 1 : 0);
  out.gauge("model_load_progress", "How far the model is loaded, 0 to 1", view.load_progress);
  if (view.load_seconds > 0) out.gauge("model_load_seconds", "Seconds that loading took", view.load_seconds);
  out.gauge("http_connections", "Open connections", static_cast<double>(view.server.connections));
  out.gauge("http_requests_running", "Requests that are read or answered",
            static_cast<double>(view.server.requests));
  out.counter("http_connections_total", "Connections since the start",
              static_cast<double>(view.server.accepted));
  out.counter("http_connections_refused_total", "Connections above the limit",
              static_cast<double>(view.server.refused));
  {
    const std::lock_guard lock(mutex_);
    out.family("http_requests_total", Kind::kCounter,
               "Answers by route and status; 499: the client left before");
    for (const auto& [key, value] : requests_) {
      out.sample(static_cast<double>(value), {{"route", key.first}, {"status", std::to_string(key.second)}});
    }
    add_histogram(out, "http_request_duration_seconds", "From the whole request to the whole answer",
                  durations_);
    out.counter("http_request_bytes_total", "Bytes of bodies received", static_cast<double>(request_bytes_));
    out.counter("http_response_bytes_total", "Bytes of bodies sent", static_cast<double>(response_bytes_));
  }
  if (view.engine != nullptr) {
    add_requests(out, *view.engine);
    add_tokens(out, view.engine->totals);
    add_times(out, view.engine->totals);
    add_memory(out, *view.engine, view.tiers);
  }
  add_process(out);
  return out.text();
}

}  // namespace oxbow::server
