#include "server/connection.h"

#include <poll.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>

namespace oxbow::server {
namespace {

using boost::system::error_code;

constexpr size_t kInputLimit = 64 << 10;  // of bytes behind a request that is still being answered
constexpr size_t kLingerBytes = 8 << 20;

ReadLimits read_limits(const Limits& limits) {
  return {limits.header_bytes, limits.header_fields, limits.body_bytes};
}

// Whether the other side has closed, even when bytes wait before the end.
bool has_hung_up(int descriptor) {
  pollfd entry{descriptor, POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace

Connection::Connection(ConnectionHost& host, std::shared_ptr<asio::io_context> context, Socket socket,
                       std::string peer)
    : host_(host), context_(std::move(context)), socket_(std::move(socket)), peer_(std::move(peer)) {
  error_code ignored;
  socket_.non_blocking(true, ignored);
}

void Connection::begin() {
  wait_readable();
}

void Connection::enter(Phase phase) {
  phase_ = phase;
  since_ = Clock::now();
}

// Always waiting for bytes, in every phase: that is how a client is seen to leave.
void Connection::wait_readable() {
  if (reading_ || expired_ || phase_ == Phase::kClosed || input_.size() >= kInputLimit) return;
  reading_ = true;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const error_code& code) {
    self->reading_ = false;
    if (!code && self->phase_ != Phase::kClosed) self->on_readable();
  });
}

void Connection::on_readable() {
  std::string& scratch = host_.scratch();
  error_code code;
  const size_t got =
      socket_.read_some(asio::buffer(scratch.data(), std::min(scratch.size(), kInputLimit)), code);
  if (code == asio::error::would_block || code == asio::error::try_again) return wait_readable();
  if (code == asio::error::eof) return client_closed();
  if (code) return close();
  if (phase_ == Phase::kLingering) {
    drained_bytes_ += got;
    if (drained_bytes_ > kLingerBytes) return close();
    return wait_readable();
  }
  input_.append(scratch.data(), got);
  consume();
  wait_readable();
}

// Feeds what was read to the current request, until it is whole or more is needed.
void Connection::consume() {
  while (phase_ == Phase::kIdle || phase_ == Phase::kHead || phase_ == Phase::kBody) {
    if (!reader_) reader_.emplace(read_limits(host_.limits()));
    std::string_view rest = input_;
    const auto progress = reader_->feed(rest);
    input_.erase(0, input_.size() - rest.size());
    if (input_.empty()) input_.shrink_to_fit();
    if (phase_ == Phase::kIdle && reader_->has_begun()) {
      enter(Phase::kHead);
      host_.request_began();
    }
    switch (progress) {
      case RequestReader::Progress::kNeedMore:
        return;
      case RequestReader::Progress::kHead:
        head_is_read();
        break;
      case RequestReader::Progress::kComplete:
        request_is_read();
        break;
      case RequestReader::Progress::kFailed:
        read_failed();
        break;
    }
  }
}

void Connection::head_is_read() {
  Request& request = reader_->request();
  request.peer = peer_;
  enter(Phase::kBody);
  std::variant<const Route*, Response> decision =
      refuses_ ? error_response({.status = 503,
                                 .code = "too_many_connections",
                                 .message = "the server has too many connections",
                                 .retry_after = 1})
               : host_.admit(request);
  if (auto* refusal = std::get_if<Response>(&decision)) {
    const bool keep_alive = !refuses_ && !reader_->has_body() && reader_->keep_alive();
    return answer_now(std::move(*refusal), keep_alive);
  }
  route_ = std::get<const Route*>(decision);
  if (reader_->expects_continue() && reader_->has_body()) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    output_.append(kContinue);
    interim_bytes_ += kContinue.size();
    pump();
  }
}

void Connection::read_failed() {
  Request& request = reader_->request();
  request.peer = peer_;
  route_ = nullptr;
  answer_now(error_response(reader_->error()), false);
}

void Connection::request_is_read() {
  reader_->request().received = Clock::now();
  const Route& route = *route_;
  enter(Phase::kBusy);
  pipe_ = make_pipe(reader_->keep_alive());
  reader_.reset();
  // The handler may answer at once; the pump then runs from the loop, not from here.
  host_.dispatch(route, pipe_);
}

std::shared_ptr<AnswerPipe> Connection::make_pipe(bool keep_alive) {
  Framing framing;
  Request& request = reader_->request();
  framing.http_1_1 = reader_->is_http_1_1();
  framing.head_only = request.method == "HEAD";
  framing.keep_alive = keep_alive && !host_.is_draining();
  framing.headers = host_.answer_headers(request);
  auto wake = [weak = weak_from_this(), context = context_] {
    asio::post(*context, [weak] {
      if (const auto self = weak.lock()) self->pump();
    });
  };
  return std::make_shared<AnswerPipe>(std::move(request), std::move(framing), host_.limits().buffered_bytes,
                                      std::move(wake));
}

void Connection::answer_now(Response response, bool keep_alive) {
  enter(Phase::kBusy);
  pipe_ = make_pipe(keep_alive);
  reader_.reset();
  pipe_->respond(std::move(response));
}

// Moves what the pipe has to the socket; goes on to the next request when the answer is out.
void Connection::pump() {
  if (phase_ == Phase::kClosed || phase_ == Phase::kLingering) return;
  // Also while a write waits for the client, which is how it usually comes about.
  if (pipe_ && pipe_->has_overflowed()) return close();
  if (writing_) return;
  if (pipe_) pipe_->take(output_);
  if (!output_.empty()) {
    last_write_ = Clock::now();
    return write_some();
  }
  if (pipe_ && pipe_->is_complete()) answer_is_out();
}

void Connection::write_some() {
  writing_ = true;
  socket_.async_write_some(asio::buffer(output_.data() + output_done_, output_.size() - output_done_),
                           [self = shared_from_this()](const error_code& code, size_t bytes) {
                             self->writing_ = false;
                             if (self->phase_ == Phase::kClosed) return;
                             if (code) return self->close();
                             self->last_write_ = Clock::now();
                             self->output_done_ += bytes;
                             const size_t interim = std::min(bytes, self->interim_bytes_);
                             self->interim_bytes_ -= interim;
                             if (self->pipe_) self->pipe_->written(bytes - interim);
                             if (self->output_done_ < self->output_.size()) return self->write_some();
                             self->output_.clear();
                             self->output_done_ = 0;
                             self->pump();
                           });
}

void Connection::answer_is_out() {
  const bool keep_alive = pipe_->keeps_alive() && !host_.is_draining() && !expired_;
  host_.answered(*pipe_);
  host_.request_ended();
  pipe_.reset();
  route_ = nullptr;
  if (!keep_alive) return linger();
  output_.shrink_to_fit();
  enter(Phase::kIdle);
  consume();
  wait_readable();
}

// What was asked may be answered already: then a client that has only closed its sending side still reads.
void Connection::client_closed() {
  if (phase_ != Phase::kBusy || !pipe_ || pipe_->is_open()) return close();
  expired_ = true;
  input_ = {};
}

// Closes the sending side and reads on for a while: bytes that arrive at a closed socket would make the
// system throw the answer away before the client has read it.
void Connection::linger() {
  enter(Phase::kLingering);
  drained_bytes_ = input_.size();
  input_ = {};
  error_code code;
  socket_.shutdown(Socket::shutdown_send, code);
  if (code) return close();
  wait_readable();
}

void Connection::close() {
  if (phase_ == Phase::kClosed) return;
  const auto self = shared_from_this();
  const bool had_request = phase_ == Phase::kHead || phase_ == Phase::kBody || phase_ == Phase::kBusy;
  phase_ = Phase::kClosed;
  error_code ignored;
  socket_.close(ignored);
  if (pipe_) {
    pipe_->cut();
    host_.answered(*pipe_);
    pipe_.reset();
  }
  if (had_request) host_.request_ended();
  host_.closed(*this);
}

void Connection::end(const ErrorAnswer& error) {
  expired_ = true;
  if (phase_ == Phase::kBusy && pipe_) {
    pipe_->close_afterwards();
    pipe_->fail(error);
  } else if (phase_ != Phase::kLingering) {
    close();
  }
}

void Connection::drain() {
  if (phase_ == Phase::kIdle) return close();
  if (pipe_) pipe_->close_afterwards();
}

void Connection::check_time(Clock::time_point now) {
  const Limits& limits = host_.limits();
  const auto age = now - since_;
  switch (phase_) {
    case Phase::kIdle:
      if (age > limits.idle_time) close();
      return;
    case Phase::kHead:
    case Phase::kBody:
      if (age > (phase_ == Phase::kHead ? limits.header_time : limits.body_time)) {
        answer_now(error_response({.status = 408,
                                   .code = "request_timeout",
                                   .message = "the request did not arrive in time",
                                   .should_retry = false}),
                   false);
      }
      return;
    case Phase::kBusy:
      if (writing_ && now - last_write_ > limits.write_time) return close();
      if (!reading_ && !expired_ && has_hung_up(socket_.native_handle())) return client_closed();
      if (limits.request_time.count() > 0 && age > limits.request_time) {
        end({.status = 504,
             .code = "request_timeout",
             .message = "the request took longer than the server allows (--timeout)",
             .should_retry = false});
      }
      if (pipe_) pipe_->ping(now);
      return;
    case Phase::kLingering:
      if (age > limits.linger_time) close();
      return;
    case Phase::kClosed:
      return;
  }
}

}  // namespace oxbow::server
