#include "server/operations.h"

#include <nlohmann/json.hpp>

namespace oxbow::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr RouteOptions kProbe{.open = true, .on_io_thread = true};

Response json_response(int status, const Json& json) {
  return {.status = status, .body = json.dump()};
}

// Alive, whatever the model does: orchestrators would end a server that loads for long.
void answer_health(const OperationsSources& sources, Exchange& exchange) {
  const Readiness& readiness = *sources.readiness;
  Json json;
  json["status"] = readiness.draining() ? "draining" : readiness.ready() ? "ok" : "loading";
  if (!readiness.ready()) json["loading_progress"] = readiness.progress();
  exchange.respond(json_response(200, json));
}

void answer_readiness(const OperationsSources& sources, Exchange& exchange) {
  const Readiness& readiness = *sources.readiness;
  const auto engine = sources.engine();
  const bool is_full = engine && engine->queued >= engine->queue_limit;
  const bool ready = readiness.ready() && !readiness.draining() && !is_full;
  Json json;
  json["status"] = readiness.draining() ? "draining"
                   : !readiness.ready() ? "loading"
                   : is_full            ? "busy"
                                        : "ready";
  json["loading_progress"] = readiness.progress();
  if (engine) {
    json["running"] = engine->running;
    json["queued"] = engine->queued;
    json["queue_limit"] = engine->queue_limit;
  }
  Response response = json_response(ready ? 200 : 503, json);
  if (!ready) {
    const int seconds = readiness.ready() ? 1 : readiness.retry_seconds();
    response.headers.push_back({"Retry-After", std::to_string(seconds)});
  }
  exchange.respond(std::move(response));
}

void answer_metrics(const OperationsSources& sources, Exchange& exchange) {
  const auto engine = sources.engine();
  const auto tiers = sources.tiers();
  MetricsView view;
  view.engine = engine ? &*engine : nullptr;
  view.tiers = tiers;
  view.server = sources.server();
  view.load_progress = sources.readiness->progress();
  view.load_seconds = sources.readiness->load_seconds();
  view.ready = sources.readiness->ready() && !sources.readiness->draining();
  exchange.respond(
      {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = sources.metrics->text(view)});
}

}  // namespace

void add_operations(Router& router, OperationsSources sources) {
  const auto shared = std::make_shared<const OperationsSources>(std::move(sources));
  const auto health = [shared](const std::shared_ptr<Exchange>& exchange) {
    answer_health(*shared, *exchange);
  };
  router.add("GET", "/health", health, kProbe);
  router.add("GET", "/v1/health", health, kProbe);
  router.add(
      "GET", "/livez",
      [](const std::shared_ptr<Exchange>& exchange) { exchange->respond({.body = "{\"status\":\"ok\"}"}); },
      kProbe);
  router.add(
      "GET", "/readyz",
      [shared](const std::shared_ptr<Exchange>& exchange) { answer_readiness(*shared, *exchange); }, kProbe);
  router.add("GET", "/metrics",
             [shared](const std::shared_ptr<Exchange>& exchange) { answer_metrics(*shared, *exchange); });
}

}  // namespace oxbow::server
