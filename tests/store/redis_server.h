#pragma once
// Servers for tests of the shared tier: a real one, and one that lies.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "objects.h"

namespace oxbow::stores::testing {

// redis-server as a child process on a free (or the given) port of 127.0.0.1, nothing kept on disk, killed
// with the object.
class RealRedis {
 public:
  // Null when the program is not on this machine.
  static std::unique_ptr<RealRedis> start(const std::vector<std::string>& arguments = {}, uint16_t port = 0);
  ~RealRedis();

  uint16_t port() const { return port_; }
  void stop();

 private:
  RealRedis() = default;
  bool launch(const std::vector<std::string>& arguments);

  TemporaryDirectory directory_;
  int child_ = -1;
  uint16_t port_ = 0;
};

// Listens on a free port and runs `serve` for each connection on a thread; the function owns nothing, the
// socket is closed after it.
class FakeServer {
 public:
  using Serve = std::function<void(int socket)>;
  explicit FakeServer(Serve serve);
  ~FakeServer();

  uint16_t port() const { return port_; }
  int connections() const { return connections_; }

  // Answers every piece of input with the text; an empty one is silence.
  static Serve always(std::string answer);

 private:
  void run();

  Serve serve_;
  uint16_t port_ = 0;  // before the listener, which sets it
  int listener_ = -1;
  std::atomic<int> connections_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Whether the peer has closed the connection, or data came; waits no longer than that.
bool readable(int socket, int milliseconds);

}  // namespace oxbow::stores::testing

// Skips a test without redis-server, saying so. With OXBOW_REQUIRE_REDIS set (CI) its absence is a failure.
#define OXBOW_NEEDS_REDIS(server)                                      \
  do {                                                                 \
    if ((server) == nullptr) {                                         \
      if (std::getenv("OXBOW_REQUIRE_REDIS") != nullptr)               \
        FAIL() << "redis-server is missing (package redis-tools)";     \
      GTEST_SKIP() << "redis-server (package redis-tools) is missing"; \
    }                                                                  \
  } while (false)
