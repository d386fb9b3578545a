#include "server/server.h"

#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <deque>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "base/log.h"
#include "base/start_thread.h"
#include "server/admission.h"
#include "server/connection.h"
#include "server/listener.h"

namespace oxbow::server {
namespace {

using boost::system::error_code;
using namespace std::chrono_literals;

constexpr size_t kScratchBytes = 64 << 10;
constexpr size_t kRefusedConnections = 64;  // beyond the limit: told so; more are closed without a word
constexpr auto kAcceptPause = 100ms;        // when the process has no descriptors left

// The finest of the limits decides how often they are looked at.
milliseconds tick_of(const Limits& limits) {
  const milliseconds shortest =
      std::min({limits.header_time, limits.body_time, limits.idle_time, limits.write_time,
                limits.request_time.count() > 0 ? limits.request_time : milliseconds(1h)});
  return std::clamp(shortest / 4, milliseconds(10), milliseconds(250));
}

class HttpServer final : public Server, public ConnectionHost {
 public:
  HttpServer(const ServerOptions& options, const Router& router, const AccessPolicy& access,
             const Readiness& readiness, std::function<void(const Outcome&)> observer)
      : options_(options),
        admission_(router, access, readiness),
        readiness_(readiness),
        observer_(std::move(observer)),
        context_(std::make_shared<asio::io_context>(1)),
        timer_(*context_),
        workers_(static_cast<size_t>(std::max(options.workers, 1))),
        scratch_(kScratchBytes, '\0') {}

  ~HttpServer() override {
    asio::post(*context_, [this] { shut(); });
    if (thread_.joinable()) thread_.join();
    workers_.join();
    for (const Listener& listener : listeners_) {
      if (!listener.socket_path.empty()) ::unlink(listener.socket_path.c_str());
    }
  }

  Status open();

  uint16_t port() const override { return port_; }
  std::string url() const override { return url_; }
  ServerStatistics statistics() const override {
    return {connection_count_, request_count_, accepted_, refused_};
  }
  bool drain(milliseconds patience) override;
  void end_requests() override;

  const Limits& limits() const override { return options_.limits; }
  std::variant<const Route*, Response> admit(Request& request) override { return admission_.decide(request); }
  std::vector<Header> answer_headers(const Request& request) override {
    return admission_.answer_headers(request);
  }
  void dispatch(const Route& route, std::shared_ptr<AnswerPipe> pipe) override;
  bool is_draining() const override { return readiness_.draining(); }
  void answered(const AnswerPipe& pipe) override;
  void request_began() override { ++request_count_; }
  void request_ended() override;
  void closed(Connection& connection) override;
  std::string& scratch() override { return scratch_; }

 private:
  void accept(Listener& listener);
  void add(Connection::Socket socket, const asio::generic::stream_protocol::endpoint& peer);
  bool make_room();
  void tick();
  void shut();
  template <typename Action>
  void for_each_connection(Action action);

  const ServerOptions options_;
  const Admission admission_;
  const Readiness& readiness_;
  const std::function<void(const Outcome&)> observer_;
  std::shared_ptr<asio::io_context> context_;
  asio::steady_timer timer_;
  asio::thread_pool workers_;
  std::thread thread_;
  uint16_t port_ = 0;
  std::string url_;

  // Of the I/O thread.
  std::deque<Listener> listeners_;
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
  std::string scratch_;
  bool ticking_ = false, shut_ = false;

  std::atomic<size_t> connection_count_{0}, request_count_{0};
  std::atomic<uint64_t> accepted_{0}, refused_{0};
  std::mutex mutex_;
  std::condition_variable quiet_;
};

Status HttpServer::open() {
  if (!options_.host.empty()) {
    OXBOW_ASSIGN(Listener tcp, listen_tcp(*context_, options_.host, options_.port));
    port_ = tcp.port;
    url_ = tcp.description;
    listeners_.push_back(std::move(tcp));
  }
  if (!options_.unix_socket.empty()) {
    OXBOW_ASSIGN(Listener local, listen_unix(*context_, options_.unix_socket));
    if (url_.empty()) url_ = local.description;
    listeners_.push_back(std::move(local));
  }
  if (listeners_.empty()) return fail(ErrorKind::kInvalidInput, "there is nothing to listen on");
  for (Listener& listener : listeners_) accept(listener);
  OXBOW_ASSIGN(thread_, start_thread([context = context_] { context->run(); }));
  return {};
}

void HttpServer::accept(Listener& listener) {
  auto peer = std::make_shared<asio::generic::stream_protocol::endpoint>();
  auto socket = std::make_shared<Connection::Socket>(*context_);
  listener.acceptor.async_accept(*socket, *peer, [this, &listener, socket, peer](const error_code& code) {
    if (shut_ || code == asio::error::operation_aborted) return;
    if (!code) {
      add(std::move(*socket), *peer);
    } else if (code != asio::error::connection_aborted) {
      // Most likely there are no descriptors left; trying again at once would spin.
      auto pause = std::make_shared<asio::steady_timer>(*context_, kAcceptPause);
      make_room();
      pause->async_wait([this, &listener, pause](const error_code&) {
        if (!shut_) accept(listener);
      });
      return;
    }
    accept(listener);
  });
}

void HttpServer::add(Connection::Socket socket, const asio::generic::stream_protocol::endpoint& peer) {
  ++accepted_;
  const bool is_full = connections_.size() >= options_.limits.connections && !make_room();
  if (is_full) ++refused_;
  if (is_full && connections_.size() >= options_.limits.connections + kRefusedConnections) return;
  const std::string name = describe_peer(peer);
  if (name != "unix") {
    error_code ignored;
    socket.set_option(asio::detail::socket_option::boolean<IPPROTO_TCP, TCP_NODELAY>(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
  }
  auto connection = std::make_shared<Connection>(*this, context_, std::move(socket), name);
  if (is_full) connection->refuse_all();
  connections_.emplace(connection.get(), connection);
  connection_count_ = connections_.size();
  connection->begin();
  tick();
}

// Closes the connection that has waited longest between requests.
bool HttpServer::make_room() {
  Connection* oldest = nullptr;
  for (const auto& [connection, owner] : connections_) {
    if (connection->is_idle() && (oldest == nullptr || connection->since() < oldest->since()))
      oldest = connection;
  }
  if (oldest == nullptr) return false;
  oldest->close();
  return true;
}

// Actions may close connections.
template <typename Action>
void HttpServer::for_each_connection(Action action) {
  std::vector<std::shared_ptr<Connection>> all;
  all.reserve(connections_.size());
  for (const auto& [connection, owner] : connections_) all.push_back(owner);
  for (const auto& connection : all) action(*connection);
}

void HttpServer::tick() {
  if (ticking_ || shut_ || connections_.empty()) return;
  ticking_ = true;
  timer_.expires_after(tick_of(options_.limits));
  timer_.async_wait([this](const error_code&) {
    ticking_ = false;
    if (shut_) return;
    const auto now = Connection::Clock::now();
    for_each_connection([now](Connection& connection) { connection.check_time(now); });
    tick();
  });
}

void HttpServer::dispatch(const Route& route, std::shared_ptr<AnswerPipe> pipe) {
  auto run = [&route, exchange = std::make_shared<PipeExchange>(std::move(pipe))] {
    if (!exchange->is_open()) return;  // the client left while it waited for a worker
    try {
      route.handler(exchange);
    } catch (...) {
      // Dropping the exchange answers 500.
      log(LogLevel::kError, "server", "a handler of {} threw", route.pattern);
    }
  };
  if (route.options.on_io_thread) {
    run();
  } else {
    asio::post(workers_, std::move(run));
  }
}

void HttpServer::answered(const AnswerPipe& pipe) {
  if (!observer_) return;
  const Request& request = pipe.request();
  Outcome outcome;
  outcome.method = request.method;
  outcome.route = request.route;
  outcome.id = request.id;
  outcome.complete = pipe.has_succeeded();
  outcome.status = pipe.status() != 0 ? pipe.status() : 499;
  outcome.request_bytes = request.body.size();
  outcome.response_bytes = pipe.body_bytes();
  if (request.received != Connection::Clock::time_point()) {
    outcome.duration = Connection::Clock::now() - request.received;
  }
  observer_(outcome);
}

void HttpServer::request_ended() {
  const std::lock_guard lock(mutex_);
  --request_count_;
  quiet_.notify_all();
}

void HttpServer::closed(Connection& connection) {
  connections_.erase(&connection);
  connection_count_ = connections_.size();
}

bool HttpServer::drain(milliseconds patience) {
  asio::post(*context_, [this] { for_each_connection([](Connection& connection) { connection.drain(); }); });
  std::unique_lock lock(mutex_);
  return quiet_.wait_for(lock, patience, [this] { return request_count_ == 0; });
}

void HttpServer::end_requests() {
  asio::post(*context_, [this] {
    for_each_connection([](Connection& connection) {
      connection.end({.status = 503,
                      .code = "shutting_down",
                      .message = "the server shut down before the answer was complete",
                      .retry_after = 1});
    });
  });
}

void HttpServer::shut() {
  shut_ = true;
  error_code ignored;
  for (Listener& listener : listeners_) listener.acceptor.close(ignored);
  timer_.cancel();
  for_each_connection([](Connection& connection) { connection.close(); });
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, const Router& router,
                                              const AccessPolicy& access, const Readiness& readiness,
                                              std::function<void(const Outcome&)> observer) {
  try {  // the threads of handlers
    auto server = std::make_unique<HttpServer>(options, router, access, readiness, std::move(observer));
    OXBOW_TRY(server->open());
    return server;
  } catch (const std::system_error& error) {
    return fail(ErrorKind::kOutOfBudget, "the system refuses threads or descriptors: {}", error.what());
  }
}

}  // namespace oxbow::server
