#pragma once
// Endpoints for those who keep the server up: /health, /livez, /readyz, /metrics.

#include <functional>
#include <optional>

#include "server/metrics.h"
#include "server/readiness.h"
#include "server/router.h"

namespace oxbow::server {

// Where the endpoints look. Functions may be called from any thread.
struct OperationsSources {
  const Readiness* readiness = nullptr;
  const Metrics* metrics = nullptr;
  std::function<ServerStatistics()> server;
  std::function<std::optional<engine::Statistics>()> engine;  // nothing until the model is loaded
  std::function<std::vector<TierUse>()> tiers;
};

// All but /metrics are open to everyone.
void add_operations(Router& router, OperationsSources sources);

}  // namespace oxbow::server
