#pragma once
// The way of one answer from a handler on any thread to the connection on the I/O thread.

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "server/http.h"

namespace oxbow::server {

// How an answer is written for its request.
struct Framing {
  bool http_1_1 = true;
  bool head_only = false;  // HEAD
  bool keep_alive = true;
  std::vector<Header> headers;  // for every answer of this request
};

// Invariants: pending_ holds whole pieces; nothing is added after done_ or gone_; the callback is called at
// most once, and never while the lock is held.
class AnswerPipe {
 public:
  using Clock = std::chrono::steady_clock;

  // wake: called, on any thread, when there is something for the connection to do.
  AnswerPipe(Request request, Framing framing, size_t limit_bytes, std::function<void()> wake);

  const Request& request() const { return request_; }

  // For handlers, see Exchange.
  void respond(Response response);
  void start(StreamHead head);
  bool send(std::string_view bytes);
  void finish();
  void on_gone(std::function<void()> callback);
  bool is_open() const;
  size_t buffered_bytes() const;

  // Ends the answer with an error in whatever phase it is, and tells the handler.
  void fail(const ErrorAnswer& error);
  // The handler dropped its exchange.
  void abandon();

  // For the connection: adds what waits to `out`, which then counts as buffered until written() says
  // otherwise.
  void take(std::string& out);
  void written(size_t bytes);
  // The client cannot be reached any more: tells the handler.
  void cut();
  void close_afterwards();
  // Adds a comment when an event stream was silent for its ping interval.
  void ping(Clock::time_point now);

  bool is_complete() const;  // no more will come, and all was taken
  bool has_overflowed() const;
  bool keeps_alive() const;
  int status() const;  // 0 before an answer began
  bool has_succeeded() const;
  size_t body_bytes() const;

 private:
  using Lock = std::unique_lock<std::mutex>;
  void write_head(int status, const std::string& content_type, const std::vector<Header>& headers,
                  const std::string* body);
  void add_piece(std::string_view bytes);
  void end_pieces();
  void notify(Lock& lock, bool was_empty);

  const Request request_;
  Framing framing_;
  const size_t limit_bytes_;
  const std::function<void()> wake_;

  mutable std::mutex mutex_;
  std::string pending_;
  std::function<void()> callback_;
  size_t in_flight_bytes_ = 0;
  size_t body_bytes_ = 0;
  int status_ = 0;
  bool started_ = false, done_ = false, gone_ = false, failed_ = false, overflowed_ = false, events_ = false;
  std::chrono::milliseconds ping_interval_{0};
  Clock::time_point last_piece_;
};

// What handlers hold.
class PipeExchange final : public Exchange {
 public:
  explicit PipeExchange(std::shared_ptr<AnswerPipe> pipe) : pipe_(std::move(pipe)) {}
  ~PipeExchange() override { pipe_->abandon(); }

  const Request& request() const override { return pipe_->request(); }
  void respond(Response response) override { pipe_->respond(std::move(response)); }
  void start(StreamHead head) override { pipe_->start(std::move(head)); }
  bool send(std::string_view bytes) override { return pipe_->send(bytes); }
  void finish() override { pipe_->finish(); }
  size_t buffered_bytes() const override { return pipe_->buffered_bytes(); }
  bool is_open() const override { return pipe_->is_open(); }
  void on_gone(std::function<void()> callback) override { pipe_->on_gone(std::move(callback)); }

 private:
  std::shared_ptr<AnswerPipe> pipe_;
};

}  // namespace oxbow::server
