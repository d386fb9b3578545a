#pragma once
// What the server counts and shows to Prometheus.

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "engine/scheduler_statistics.h"
#include "server/server.h"

namespace oxbow::server {

// A store behind the memory.
struct TierUse {
  std::string name;  // "disk", "redis"
  uint64_t bytes = 0;
  uint64_t hits = 0, misses = 0, refused = 0, failures = 0, dropped = 0;
};

// What one look at the metrics shows. Null: not there yet.
struct MetricsView {
  const engine::Statistics* engine = nullptr;
  std::span<const TierUse> tiers;
  ServerStatistics server;
  double load_progress = 0;
  double load_seconds = 0;  // 0: still loading
  bool ready = false;
};

// Any thread.
class Metrics {
 public:
  void count(const Outcome& outcome);
  std::string text(const MetricsView& view) const;

 private:
  mutable std::mutex mutex_;
  // By route and status; routes and statuses are few and never come from a request.
  std::map<std::pair<std::string, int>, uint64_t> requests_;
  engine::Histogram durations_;
  uint64_t request_bytes_ = 0, response_bytes_ = 0;
};

}  // namespace oxbow::server
