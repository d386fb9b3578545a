#pragma once
// The HTTP server: listens, reads requests within limits, hands them to handlers, delivers answers.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "server/access.h"
#include "server/http.h"
#include "server/readiness.h"
#include "server/router.h"

namespace oxbow::server {

using std::chrono::milliseconds;

struct Limits {
  size_t header_bytes = 16 << 10;
  size_t header_fields = 128;
  size_t body_bytes = 16 << 20;
  size_t connections = 1024;
  // Of one answer, not yet taken by the client. More cuts it off.
  size_t buffered_bytes = 4 << 20;
  milliseconds header_time =
      std::chrono::seconds(15);  // from the first byte of a request to the end of its head
  milliseconds body_time = std::chrono::seconds(120);  // for the whole body
  milliseconds idle_time = std::chrono::seconds(75);   // between requests of a connection
  milliseconds linger_time = std::chrono::seconds(2);  // for the client to read an answer that closes
  milliseconds write_time = std::chrono::seconds(60);  // without the client taking a byte
  milliseconds request_time = std::chrono::hours(1);   // from the whole request to the whole answer; 0: any
};

struct ServerOptions {
  std::string host = "127.0.0.1";  // an address or "localhost"; empty: only the Unix socket
  uint16_t port = 8080;            // 0: a free one
  std::string unix_socket;         // a path; replaces a socket there that nobody serves. Empty: none
  int workers = 2;                 // threads of handlers
  Limits limits;
};

// How one exchange ended. For logs and metrics: nothing in it comes from the request's content.
struct Outcome {
  std::string_view method;
  std::string_view route;  // the pattern; empty when none matched
  std::string_view id;
  int status = 0;  // 499: the client left before an answer began
  bool complete = false;
  size_t request_bytes = 0;   // of the body
  size_t response_bytes = 0;  // of the body, handed to the system
  std::chrono::duration<double> duration{};
};

struct ServerStatistics {
  size_t connections = 0;  // open now
  size_t requests = 0;     // read and not yet answered
  uint64_t accepted = 0;   // since the start
  uint64_t refused = 0;    // for want of room
};

// One I/O thread and a few workers. All calls from any thread.
class Server {
 public:
  // The router, readiness and access policy outlive the server.
  // kIo when an address cannot be had ("port 8080 is in use, try --port 8081").
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options, const Router& router,
                                               const AccessPolicy& access, const Readiness& readiness,
                                               std::function<void(const Outcome&)> observer = {});
  // Cuts what is open, then joins the threads.
  virtual ~Server() = default;

  virtual uint16_t port() const = 0;    // that it listens on; 0 without TCP
  virtual std::string url() const = 0;  // "http://127.0.0.1:8080"
  virtual ServerStatistics statistics() const = 0;

  // After Readiness::set_draining: closes connections between requests, and the others after their answer.
  // New connections are still answered (health, or 503), so that clients learn why. Waits until no request is
  // left (true) or the time is over (false).
  virtual bool drain(milliseconds patience) = 0;
  // Ends every running request with an error.
  virtual void end_requests() = 0;
};

}  // namespace oxbow::server
