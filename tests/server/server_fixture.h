#pragma once
// A server with a few endpoints of its own.

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "server/raw_client.h"
#include "server/server.h"

namespace oxbow::server::test {

// /echo answers with the body; /hold keeps its exchanges in `held`; /stream too, after starting an event
// stream.
class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    router.add("POST", "/echo", [](const std::shared_ptr<Exchange>& e) {
      e->respond({.content_type = "text/plain", .body = e->request().body});
    });
    router.add("GET", "/now", [](const std::shared_ptr<Exchange>& e) { e->respond({.body = "{}"}); },
               {.open = true, .on_io_thread = true});
    router.add("GET", "/model", [](const std::shared_ptr<Exchange>& e) { e->respond({.body = "{}"}); },
               {.needs_model = true});
    router.add("POST", "/hold", [this](const std::shared_ptr<Exchange>& e) { hold(e); });
    router.add("POST", "/stream", [this](const std::shared_ptr<Exchange>& e) {
      e->start({.ping_interval = ping_interval});
      hold(e);
    });
    router.add("GET", "/throw", [](const std::shared_ptr<Exchange>&) { throw 7; });
    router.add("GET", "/forget", [](const std::shared_ptr<Exchange>&) {});
    options.port = 0;
    options.limits.linger_time = std::chrono::milliseconds(200);
  }

  void start() {
    auto started = Server::start(options, router, access, readiness, [this](const Outcome& outcome) {
      const std::lock_guard lock(mutex);
      statuses.push_back(outcome.status);
      completes.push_back(outcome.complete);
    });
    ASSERT_TRUE(started) << started.error().message;
    server = std::move(*started);
  }

  void hold(const std::shared_ptr<Exchange>& exchange) {
    exchange->on_gone([this] { ++gone; });
    const std::lock_guard lock(mutex);
    held.push_back(exchange);
  }
  size_t held_count() {
    const std::lock_guard lock(mutex);
    return held.size();
  }
  std::shared_ptr<Exchange> held_at(size_t i) {
    const std::lock_guard lock(mutex);
    return held.at(i);
  }
  size_t outcome_count() {
    const std::lock_guard lock(mutex);
    return statuses.size();
  }

  Router router;
  AccessPolicy access{AccessOptions{}};
  Readiness readiness;
  ServerOptions options;
  std::chrono::milliseconds ping_interval{30'000};
  std::mutex mutex;
  std::vector<std::shared_ptr<Exchange>> held;
  std::vector<int> statuses;
  std::vector<bool> completes;
  std::atomic<int> gone{0};
  std::unique_ptr<Server> server;  // last: its threads use the rest
};

}  // namespace oxbow::server::test
