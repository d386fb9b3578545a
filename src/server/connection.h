#pragma once
// One client: reads requests one after the other, delivers their answers, notices when the client leaves.

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "server/answer_pipe.h"
#include "server/request_reader.h"
#include "server/server.h"

namespace oxbow::server {

namespace asio = boost::asio;

class Connection;

// What all connections of a server share. Used on the I/O thread only.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;

  virtual const Limits& limits() const = 0;
  // Decides about a request of which the head was read: see Admission.
  virtual std::variant<const Route*, Response> admit(Request& request) = 0;
  virtual std::vector<Header> answer_headers(const Request& request) = 0;
  virtual void dispatch(const Route& route, std::shared_ptr<AnswerPipe> pipe) = 0;
  virtual bool is_draining() const = 0;
  virtual void answered(const AnswerPipe& pipe) = 0;
  virtual void request_began() = 0;
  virtual void request_ended() = 0;
  virtual void closed(Connection& connection) = 0;
  // Room for what one read brings; shared, so that waiting connections cost no buffer.
  virtual std::string& scratch() = 0;
};

// On the I/O thread. The host outlives it while its loop runs.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = asio::generic::stream_protocol::socket;
  using Clock = std::chrono::steady_clock;

  Connection(ConnectionHost& host, std::shared_ptr<asio::io_context> context, Socket socket,
             std::string peer);

  void begin();
  // Answers its first request with 503, then closes: there are too many connections.
  void refuse_all() { refuses_ = true; }
  void check_time(Clock::time_point now);
  void close();

  // Closes it when it is idle, else after its answer.
  void drain();

  bool is_idle() const { return phase_ == Phase::kIdle; }
  // Ends a running request with an error; closes the connection when it is idle.
  void end(const ErrorAnswer& error);
  Clock::time_point since() const { return since_; }

 private:
  enum class Phase { kIdle, kHead, kBody, kBusy, kLingering, kClosed };

  void enter(Phase phase);
  void wait_readable();
  void on_readable();
  void consume();
  void head_is_read();
  void request_is_read();
  void read_failed();
  void answer_now(Response response, bool keep_alive);
  std::shared_ptr<AnswerPipe> make_pipe(bool keep_alive);
  void pump();
  void write_some();
  void answer_is_out();
  void client_closed();
  void linger();

  ConnectionHost& host_;
  std::shared_ptr<asio::io_context> context_;  // shared with pipes, which may outlive the server
  Socket socket_;
  const std::string peer_;
  Phase phase_ = Phase::kIdle;
  Clock::time_point since_ = Clock::now();  // of the phase
  Clock::time_point last_write_ = since_;   // progress of writing
  std::string input_;                       // read, not yet consumed
  std::optional<RequestReader> reader_;
  std::shared_ptr<AnswerPipe> pipe_;
  const Route* route_ = nullptr;
  std::string output_;  // being written
  size_t output_done_ = 0, interim_bytes_ = 0;
  size_t drained_bytes_ = 0;  // while lingering
  bool reading_ = false, writing_ = false, refuses_ = false, expired_ = false;
};

}  // namespace oxbow::server
