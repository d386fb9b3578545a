#include "server/answer_pipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>

namespace oxbow::server {
namespace {

// "Sun, 06 Nov 1994 08:49:37 GMT", RFC 9110, 5.6.7.
std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[utc.tm_wday], utc.tm_mday,
                     kMonths[utc.tm_mon], 1900 + utc.tm_year, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

// A value cannot end its line.
void add_header(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  std::ranges::replace_copy_if(
      value, std::back_inserter(out),
      [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f'; }, ' ');
  out.append("\r\n");
}

}  // namespace

AnswerPipe::AnswerPipe(Request request, Framing framing, size_t limit_bytes, std::function<void()> wake)
    : request_(std::move(request)),
      framing_(std::move(framing)),
      limit_bytes_(limit_bytes),
      wake_(std::move(wake)) {}

void AnswerPipe::write_head(int status, const std::string& content_type, const std::vector<Header>& headers,
                            const std::string* body) {
  status_ = status;
  fmt::format_to(std::back_inserter(pending_), "HTTP/1.1 {} {}\r\n", status, status_text(status));
  add_header(pending_, "Date", http_date());
  if (!content_type.empty()) add_header(pending_, "Content-Type", content_type);
  for (const Header& header : framing_.headers) add_header(pending_, header.name, header.value);
  for (const Header& header : headers) add_header(pending_, header.name, header.value);
  if (body != nullptr) {
    if (status != 204 && status != 304)
      add_header(pending_, "Content-Length", fmt::format("{}", body->size()));
  } else if (framing_.http_1_1) {
    add_header(pending_, "Transfer-Encoding", "chunked");
  } else {
    framing_.keep_alive = false;  // its end is the end of the connection
  }
  if (!framing_.keep_alive) {
    add_header(pending_, "Connection", "close");
  } else if (!framing_.http_1_1) {
    add_header(pending_, "Connection", "keep-alive");
  }
  pending_.append("\r\n");
}

void AnswerPipe::add_piece(std::string_view bytes) {
  if (bytes.empty() || framing_.head_only) return;
  body_bytes_ += bytes.size();
  if (framing_.http_1_1) fmt::format_to(std::back_inserter(pending_), "{:x}\r\n", bytes.size());
  pending_.append(bytes);
  if (framing_.http_1_1) pending_.append("\r\n");
}

void AnswerPipe::end_pieces() {
  if (framing_.http_1_1 && !framing_.head_only) pending_.append("0\r\n\r\n");
  done_ = true;
}

// One wake is enough until the connection has taken what waits.
void AnswerPipe::notify(Lock& lock, bool was_empty) {
  lock.unlock();
  if (was_empty) wake_();
}

void AnswerPipe::respond(Response response) {
  Lock lock(mutex_);
  if (started_ || done_ || gone_) return;
  write_head(response.status, response.content_type, response.headers, &response.body);
  if (!framing_.head_only && response.status != 204 && response.status != 304) {
    body_bytes_ = response.body.size();
    pending_.append(response.body);
  }
  done_ = true;
  const auto dropped = std::exchange(callback_, {});  // after the lock, as it may own the handler's exchange
  notify(lock, true);
}

void AnswerPipe::start(StreamHead head) {
  Lock lock(mutex_);
  if (started_ || done_ || gone_) return;
  started_ = true;
  events_ = head.content_type.starts_with("text/event-stream");
  ping_interval_ = events_ ? head.ping_interval : std::chrono::milliseconds(0);
  last_piece_ = Clock::now();
  if (events_) {
    head.headers.push_back({"Cache-Control", "no-cache"});
    head.headers.push_back({"X-Accel-Buffering", "no"});
  }
  write_head(200, head.content_type, head.headers, nullptr);
  notify(lock, true);
}

bool AnswerPipe::send(std::string_view bytes) {
  Lock lock(mutex_);
  if (!started_ || done_ || gone_) return false;
  const bool was_empty = pending_.empty();
  if (pending_.size() + in_flight_bytes_ + bytes.size() > limit_bytes_) {
    gone_ = overflowed_ = true;
    pending_.clear();
    notify(lock, true);
    return false;
  }
  last_piece_ = Clock::now();
  add_piece(bytes);
  notify(lock, was_empty);
  return true;
}

void AnswerPipe::finish() {
  Lock lock(mutex_);
  if (!started_ || done_ || gone_) return;
  end_pieces();
  const auto dropped = std::exchange(callback_, {});
  notify(lock, true);
}

void AnswerPipe::fail(const ErrorAnswer& error) {
  Lock lock(mutex_);
  if (done_ || gone_) return;
  failed_ = true;
  if (started_) {
    if (events_) add_piece("data: " + error_json(error) + "\n\n");
    end_pieces();
    framing_.keep_alive = false;
  } else {
    const Response response = error_response(error);
    write_head(response.status, response.content_type, response.headers, &response.body);
    if (!framing_.head_only) pending_.append(response.body);
    done_ = true;
  }
  const auto callback = std::exchange(callback_, {});
  notify(lock, true);
  if (callback) callback();
}

void AnswerPipe::abandon() {
  Lock lock(mutex_);
  const auto dropped = std::exchange(callback_, {});
  lock.unlock();
  fail({.status = 500,
        .code = "internal_error",
        .message = "the request was dropped without an answer",
        .should_retry = false});
}

void AnswerPipe::on_gone(std::function<void()> callback) {
  Lock lock(mutex_);
  if (!gone_ && !failed_) {
    if (!done_) callback_.swap(callback);  // the earlier one is destroyed after the lock
    lock.unlock();
    return;
  }
  lock.unlock();
  callback();
}

bool AnswerPipe::is_open() const {
  const Lock lock(mutex_);
  return !done_ && !gone_;
}

size_t AnswerPipe::buffered_bytes() const {
  const Lock lock(mutex_);
  return pending_.size() + in_flight_bytes_;
}

void AnswerPipe::take(std::string& out) {
  const Lock lock(mutex_);
  in_flight_bytes_ += pending_.size();
  if (out.empty()) {
    out.swap(pending_);
  } else {
    out.append(pending_);
  }
  pending_.clear();
}

void AnswerPipe::written(size_t bytes) {
  const Lock lock(mutex_);
  in_flight_bytes_ -= std::min(bytes, in_flight_bytes_);
}

void AnswerPipe::cut() {
  Lock lock(mutex_);
  gone_ = true;
  pending_.clear();
  const auto callback = std::exchange(callback_, {});
  lock.unlock();
  if (callback) callback();
}

void AnswerPipe::close_afterwards() {
  const Lock lock(mutex_);
  framing_.keep_alive = false;
}

void AnswerPipe::ping(Clock::time_point now) {
  Lock lock(mutex_);
  if (!started_ || done_ || gone_ || ping_interval_.count() == 0 || now - last_piece_ < ping_interval_)
    return;
  const bool was_empty = pending_.empty();
  last_piece_ = now;
  add_piece(": ping\n\n");
  notify(lock, was_empty);
}

bool AnswerPipe::is_complete() const {
  const Lock lock(mutex_);
  return done_ && pending_.empty();
}

bool AnswerPipe::has_overflowed() const {
  const Lock lock(mutex_);
  return overflowed_;
}

bool AnswerPipe::keeps_alive() const {
  const Lock lock(mutex_);
  return framing_.keep_alive;
}

int AnswerPipe::status() const {
  const Lock lock(mutex_);
  return status_;
}

bool AnswerPipe::has_succeeded() const {
  const Lock lock(mutex_);
  return done_ && !gone_ && !failed_;
}

size_t AnswerPipe::body_bytes() const {
  const Lock lock(mutex_);
  return body_bytes_;
}

}  // namespace oxbow::server
