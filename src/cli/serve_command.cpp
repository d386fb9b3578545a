#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "base/start_thread.h"
#include "cli/chat_choice.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/loading.h"
#include "cli/report.h"
#include "cli/serving_log.h"
#include "cli/shutdown_signals.h"
#include "engine/fingerprint.h"
#include "server/operations.h"
#include "server/service.h"

namespace oxbow::cli {
namespace {

using namespace std::chrono_literals;
using server::Service;

constexpr auto kSignalPoll = 100ms;
constexpr auto kLastAnswers = 2s;  // for the errors of requests that did not finish

// The model once it is there. Any thread.
class ServiceSlot {
 public:
  std::shared_ptr<const Service> get() const {
    const std::lock_guard lock(mutex_);
    return service_;
  }
  void set(std::shared_ptr<const Service> service, std::vector<const engine::CacheTier*> tiers) {
    const std::lock_guard lock(mutex_);
    service_ = std::move(service);
    tiers_ = std::move(tiers);
  }
  std::optional<engine::Statistics> statistics() const {
    const auto service = get();
    return service ? std::optional(service->scheduler->statistics()) : std::nullopt;
  }
  std::vector<server::TierUse> tiers() const {
    const std::lock_guard lock(mutex_);
    std::vector<server::TierUse> uses;
    for (const engine::CacheTier* tier : tiers_) {
      const auto statistics = tier->statistics();
      uses.push_back({std::string(tier->name()), statistics.size_bytes, statistics.hits, statistics.misses,
                      statistics.refused, statistics.failures, tier->queue_statistics().dropped});
    }
    return uses;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Service> service_;
  std::vector<const engine::CacheTier*> tiers_;  // the service's engine owns them
};

// What clients see of it: "fp_" and its first bytes.
std::string fingerprint_text(const stores::Fingerprint& fingerprint) {
  std::string text = "fp_";
  for (size_t i = 0; i < 6; ++i) text += fmt::format("{:02x}", std::to_integer<unsigned>(fingerprint[i]));
  return text;
}

Result<std::shared_ptr<const Service>> load_service(const ServeOptions& options,
                                                    const std::shared_ptr<const gguf::File>& file,
                                                    Console& console, const LoadProgress& progress,
                                                    std::vector<const engine::CacheTier*>& tiers) {
  OXBOW_ASSIGN(std::shared_ptr<const text::Tokenizer> tokenizer, load_tokenizer(*file));
  OXBOW_ASSIGN(text::ChatFormat format, choose_chat_format(options.chat, *file, *tokenizer, console));
  const auto sampling = options.sampling.over(engine::SamplerSettings::from_file(*file));
  OXBOW_TRY(sampling.check());
  OXBOW_ASSIGN(const auto model, load_model(file, options.common, Weights::kPacked, console, progress));
  OXBOW_ASSIGN(auto engine, make_engine(model, options.memory, options.common.threads, options.batch_tokens,
                                        options.parallel));
  const size_t context = choose_context(options.memory, *model, engine->memory(), console);
  for (const auto& tier : engine->tiers()) tiers.push_back(tier.get());
  const std::string fingerprint = fingerprint_text(engine::make_fingerprint(*model, options.memory.kv));
  engine::SchedulerOptions scheduling;
  scheduling.parallel = options.parallel;
  scheduling.queue_limit = options.queue;
  scheduling.context_tokens = context;
  OXBOW_ASSIGN(auto scheduler, engine::Scheduler::create(std::move(engine), scheduling));
  server::ServiceOptions about;
  about.model_id =
      options.alias.empty() ? std::filesystem::path(file->path()).filename().string() : options.alias;
  about.model_path = file->path();
  about.slot_save_path = options.slot_folder;
  about.cache_shared = options.cache_shared;
  about.version = OXBOW_VERSION;
  auto structures = std::make_unique<server::Structures>(*tokenizer);
  return std::make_shared<const Service>(Service{std::move(about), std::move(tokenizer), std::move(format),
                                                 sampling, std::move(scheduler), std::time(nullptr),
                                                 fingerprint, std::move(structures)});
}

// Loads while the server already listens.
class Loader {
 public:
  Loader(const ServeOptions& options, std::shared_ptr<const gguf::File> file, Console& console,
         server::Readiness& readiness, ServiceSlot& slot) {
    auto thread = start_thread([this, &options, file = std::move(file), &console, &readiness, &slot] {
      load(options, file, console, readiness, slot);
    });
    if (thread) {
      thread_ = std::move(*thread);
    } else {
      fail_with(std::move(thread).error());
    }
  }
  ~Loader() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  bool has_failed() const { return failed_; }
  const Error& error() const { return error_; }  // after has_failed()

 private:
  void load(const ServeOptions& options, const std::shared_ptr<const gguf::File>& file, Console& console,
            server::Readiness& readiness, ServiceSlot& slot) {
    const auto progress = [&](size_t done, size_t total) {
      readiness.set_progress(done, total);
      return !stop_.load();
    };
    std::vector<const engine::CacheTier*> tiers;
    auto service = load_service(options, file, console, progress, tiers);
    if (!service) return fail_with(std::move(service).error());
    slot.set(std::move(*service), std::move(tiers));
    readiness.set_ready();
    log(LogLevel::kInfo, "serve", "the model is ready after {:.1f} s", readiness.load_seconds());
  }
  void fail_with(Error error) {
    error_ = std::move(error);
    failed_ = true;
  }

  std::atomic<bool> stop_{false}, failed_{false};
  Error error_;
  std::thread thread_;  // last: it uses the rest
};

Result<server::AccessOptions> access_options(const ServeOptions& options, Console& console) {
  server::AccessOptions access{options.keys, options.origins, true};
  if (!options.key_file.empty()) {
    OXBOW_ASSIGN(const auto keys, server::read_key_file(options.key_file));
    access.keys.insert(access.keys.end(), keys.begin(), keys.end());
  }
  access.loopback_only = options.host.empty() || options.host == "localhost" || options.host == "::1" ||
                         options.host.starts_with("127.");
  if (!access.loopback_only && access.keys.empty()) {
    console.warn(fmt::format("everyone who can reach {} port {} can use the model: there is no --api-key",
                             options.host, options.port));
  }
  return access;
}

server::ServerOptions server_options(const ServeOptions& options) {
  server::ServerOptions server;
  server.host = options.host;
  server.port = options.port;
  server.unix_socket = options.unix_socket;
  server.limits.connections = options.connections;
  server.limits.body_bytes = static_cast<size_t>(options.body_bytes);
  server.limits.idle_time = std::chrono::seconds(options.idle_seconds);
  server.limits.request_time = std::chrono::seconds(options.timeout_seconds);
  return server;
}

// Probes come every few seconds: they are news only when they fail.
bool is_probe(std::string_view route) {
  return route == "/health" || route == "/v1/health" || route == "/livez" || route == "/readyz" ||
         route == "/metrics";
}

void log_outcome(const server::Outcome& outcome) {
  log(is_probe(outcome.route) && outcome.status == 200 ? LogLevel::kDebug : LogLevel::kInfo, "http",
      "{} {} {} {:.0f} ms {} bytes {}", outcome.method, outcome.route.empty() ? "-" : outcome.route,
      outcome.status, outcome.duration.count() * 1e3, outcome.response_bytes, outcome.id);
}

// The names of methods that reach the log are those of HTTP.
std::string_view known_method(std::string_view method) {
  for (const std::string_view known : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
    if (method == known) return known;
  }
  return "-";
}

// The first requests may come before start() has returned.
server::ServerStatistics server_statistics(const std::atomic<const server::Server*>& running) {
  const server::Server* server = running;
  return server != nullptr ? server->statistics() : server::ServerStatistics();
}

// Finishes what runs, within the time that it has.
void drain(const ServeOptions& options, server::Server& server, server::Readiness& readiness,
           const ServiceSlot& slot) {
  const auto patience = std::chrono::seconds(options.drain_seconds);
  readiness.set_draining();
  log(LogLevel::kInfo, "serve", "shutting down: {} requests have {} s", server.statistics().requests,
      options.drain_seconds);
  if (const auto service = slot.get()) service->scheduler->drain(engine::Clock::now() + patience);
  if (server.drain(patience)) return;
  server.end_requests();
  server.drain(kLastAnswers);
}

Status check_folder(const std::string& folder) {
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return {};
  return fail(ErrorKind::kNotFound, "--slot-save-path {}: there is no such folder", folder);
}

}  // namespace

int serve_command(const ServeOptions& options, Console& console) {
  ShutdownSignals signals;
  const ServingLog serving_log(console, options.log_jsonl);
  if (auto status = check_folder(options.slot_folder); !status) return report(console, status.error());
  const auto file = open_model_file(options.common);
  if (!file) return report(console, file.error());
  auto access_choice = access_options(options, console);
  if (!access_choice) return report(console, access_choice.error());

  server::Readiness readiness;
  server::Metrics metrics;
  ServiceSlot slot;
  const server::AccessPolicy access(std::move(*access_choice));
  server::Router router;
  std::atomic<const server::Server*> running{nullptr};
  server::add_operations(router, {&readiness, &metrics, [&] { return server_statistics(running); },
                                  [&] { return slot.statistics(); }, [&] { return slot.tiers(); }});
  server::add_endpoints(router, [&] { return slot.get(); });
  auto started = server::Server::start(server_options(options), router, access, readiness,
                                       [&metrics](const server::Outcome& outcome) {
                                         server::Outcome safe = outcome;
                                         safe.method = known_method(outcome.method);
                                         metrics.count(safe);
                                         log_outcome(safe);
                                       });
  if (!started) return report(console, started.error());
  std::unique_ptr<server::Server> server = std::move(*started);
  running = server.get();
  if (const int failed = print(console, fmt::format("listening on {}\n", server->url())); failed != kExitOk)
    return failed;

  const Loader loader(options, *file, console, readiness, slot);
  while (signals.wait(kSignalPoll) == 0) {
    if (loader.has_failed()) return report(console, loader.error());
  }
  signals.let_next_one_end();
  drain(options, *server, readiness, slot);
  server.reset();  // its callbacks use the scheduler
  return kExitOk;
}

}  // namespace oxbow::cli
