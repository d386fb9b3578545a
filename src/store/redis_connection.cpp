#include "store/redis_connection.h"

#include <hiredis.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace oxbow::stores {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{30000};

// Between two looks at the interruption.
constexpr milliseconds kSlice{50};

constexpr size_t kBufferBytes = size_t{256} << 10;

// A server may not be slower than this for long.
constexpr uint64_t kBytesPerMillisecond = (uint64_t{16} << 20) / 1000;

// ---- Replies: hiredis parses, these make the values. A null result ends the parse with an error.

// Gives a value its place: in the array that the reader is filling, or on its own.
void* place(const redisReadTask* task, std::unique_ptr<RedisReply> reply) {
  RedisReply* const raw = reply.get();
  if (task->parent == nullptr) return reply.release();
  auto* const parent = static_cast<RedisReply*>(task->parent->obj);
  parent->elements[static_cast<size_t>(task->idx)] = std::move(reply);
  return raw;
}

void* make_string(const redisReadTask* task, char* text, size_t size) {
  auto reply = std::make_unique<RedisReply>();
  switch (task->type) {
    case REDIS_REPLY_STATUS:
      reply->type = RedisReply::Type::kStatus;
      break;
    case REDIS_REPLY_ERROR:
      reply->type = RedisReply::Type::kError;
      break;
    case REDIS_REPLY_STRING:
      reply->type = RedisReply::Type::kString;
      break;
    default:
      return nullptr;
  }
  if (size < RedisReply::kLargeBytes) {
    reply->text.assign(text, size);
  } else {
    reply->bytes = AlignedBuffer::try_allocate(size);
    if (reply->bytes.empty()) return nullptr;
    std::memcpy(reply->bytes.data(), text, size);
  }
  return place(task, std::move(reply));
}

void* make_array(const redisReadTask* task, uint64_t size) {
  auto* const limits = static_cast<RedisConnection::Limits*>(task->privdata);
  if (task->type != REDIS_REPLY_ARRAY || limits == nullptr || size > limits->elements) return nullptr;
  limits->elements -= size;
  auto reply = std::make_unique<RedisReply>();
  reply->type = RedisReply::Type::kArray;
  reply->elements.resize(size);
  return place(task, std::move(reply));
}

void* make_integer(const redisReadTask* task, long long value) {
  if (task->type != REDIS_REPLY_INTEGER) return nullptr;
  auto reply = std::make_unique<RedisReply>();
  reply->type = RedisReply::Type::kInteger;
  reply->integer = value;
  return place(task, std::move(reply));
}

void* make_nil(const redisReadTask* task) {
  return place(task, std::make_unique<RedisReply>());
}

// The members differ between releases of hiredis; types of the newer protocol are refused.
template <typename Functions>
Functions reply_functions() {
  Functions functions{};
  functions.createString = make_string;
  functions.createArray = [](const redisReadTask* task, auto size) {
    return make_array(task, static_cast<uint64_t>(size));
  };
  functions.createInteger = make_integer;
  functions.createNil = make_nil;
  functions.freeObject = [](void* reply) { delete static_cast<RedisReply*>(reply); };
  if constexpr (requires { functions.createDouble; }) {
    functions.createDouble = [](const redisReadTask*, double, char*, size_t) -> void* { return nullptr; };
    functions.createBool = [](const redisReadTask*, int) -> void* { return nullptr; };
  }
  return functions;
}

redisReplyObjectFunctions& functions() {
  static auto instance = reply_functions<redisReplyObjectFunctions>();
  return instance;
}

// Whether an array has all its elements.
bool is_whole(const RedisReply& reply) {
  return std::all_of(reply.elements.begin(), reply.elements.end(),
                     [](const auto& element) { return element && is_whole(*element); });
}

void append(std::string& out, char mark, size_t number) {
  fmt::format_to(std::back_inserter(out), "{}{}\r\n", mark, number);
}

}  // namespace

// The time that an exchange has grows with what was transferred.
struct RedisConnection::Progress {
  steady_clock::time_point start = steady_clock::now();
  milliseconds timeout;
  uint64_t bytes = 0;

  milliseconds left() const {
    const auto allowed = timeout + milliseconds(bytes / kBytesPerMillisecond);
    return allowed - std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
  }
};

void RedisConnection::Close::operator()(redisContext* context) const {
  redisFree(context);
}

RedisConnection::RedisConnection(RedisServer server, const std::atomic<bool>& interrupted)
    : server_(std::move(server)),
      interrupted_(interrupted),
      buffer_(std::make_unique<char[]>(kBufferBytes)) {}

RedisConnection::~RedisConnection() = default;

Result<std::vector<RedisReply>> RedisConnection::exchange(std::span<const Command> commands,
                                                          const Limits& limits) {
  if (!context_ && steady_clock::now() < retry_at_) {
    return fail(ErrorKind::kIo, "redis {}:{}: not reachable a moment ago", server_.host, server_.port);
  }
  if (!context_) {
    if (Status connected = connect(); !connected) {
      context_.reset();
      pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
      retry_at_ = steady_clock::now() + pause_;
      return tl::unexpected<Error>(std::move(connected).error());
    }
  }
  auto replies = converse(commands, limits);
  if (replies) {
    pause_ = milliseconds(0);
    return replies;
  }
  context_.reset();
  pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
  retry_at_ = steady_clock::now() + pause_;
  return fail(ErrorKind::kIo, "redis {}:{}: {}", server_.host, server_.port, replies.error().message);
}

Status RedisConnection::connect() {
  const auto timeout = server_.connect_timeout.count();
  const timeval time{static_cast<time_t>(timeout / 1000), static_cast<suseconds_t>(timeout % 1000 * 1000)};
  context_.reset(redisConnectWithTimeout(server_.host.c_str(), server_.port, time));
  if (!context_ || context_->err != 0) {
    return fail(ErrorKind::kIo, "redis {}:{}: {}", server_.host, server_.port,
                context_ ? context_->errstr : "no memory");
  }
  context_->reader->fn = &functions();
  if (server_.password.empty()) return {};
  Command command = {"AUTH"};
  if (!server_.username.empty()) command.push_back(server_.username);
  command.push_back(server_.password);
  OXBOW_ASSIGN(const auto replies, converse(std::span(&command, 1), {}));
  if (replies[0].type != RedisReply::Type::kStatus) {
    return fail(ErrorKind::kIo, "redis {}:{}: the password was not accepted: {}", server_.host, server_.port,
                replies[0].text);
  }
  return {};
}

Result<std::vector<RedisReply>> RedisConnection::converse(std::span<const Command> commands, Limits limits) {
  Progress progress{.timeout = server_.command_timeout};
  context_->reader->privdata = &limits;
  OXBOW_TRY(send(commands, progress));
  std::vector<RedisReply> replies;
  replies.reserve(commands.size());
  for (size_t i = 0; i < commands.size(); ++i) {
    OXBOW_ASSIGN(RedisReply reply, receive(progress, limits));
    replies.push_back(std::move(reply));
  }
  if (context_->reader->pos != context_->reader->len)
    return fail(ErrorKind::kIo, "more replies than commands");
  return replies;
}

Status RedisConnection::send(std::span<const Command> commands, Progress& progress) {
  std::string out;
  for (const Command& command : commands) {
    append(out, '*', command.size());
    for (const std::string_view argument : command) {
      append(out, '$', argument.size());
      if (argument.size() > kBufferBytes) {
        OXBOW_TRY(send_all(std::exchange(out, {}), progress));
        OXBOW_TRY(send_all(argument, progress));
      } else {
        out += argument;
      }
      out += "\r\n";
    }
  }
  return send_all(out, progress);
}

Status RedisConnection::send_all(std::string_view bytes, Progress& progress) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(context_->fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      if (interrupted_) return fail(ErrorKind::kIo, "interrupted");
      progress.bytes += static_cast<uint64_t>(sent);
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      return fail(ErrorKind::kIo, "{}", std::strerror(errno));
    } else {
      OXBOW_TRY(wait(POLLOUT, progress));
    }
  }
  return {};
}

Result<RedisReply> RedisConnection::receive(Progress& progress, Limits& limits) {
  for (;;) {
    void* parsed = nullptr;
    if (redisReaderGetReply(context_->reader, &parsed) != REDIS_OK) {
      return fail(ErrorKind::kIo, "a reply outside the protocol or its limits: {}", context_->reader->errstr);
    }
    if (parsed != nullptr) {
      const std::unique_ptr<RedisReply> reply(static_cast<RedisReply*>(parsed));
      if (!is_whole(*reply)) return fail(ErrorKind::kIo, "an array without its elements");
      return std::move(*reply);
    }
    const ssize_t got = ::recv(context_->fd, buffer_.get(), kBufferBytes, MSG_DONTWAIT);
    if (got > 0) {
      const auto size = static_cast<uint64_t>(got);
      progress.bytes += size;
      if (size > limits.bytes) return fail(ErrorKind::kIo, "a reply that is too large");
      limits.bytes -= size;
      if (redisReaderFeed(context_->reader, buffer_.get(), size) != REDIS_OK) {
        return fail(ErrorKind::kIo, "{}", context_->reader->errstr);
      }
      // The clock also runs while data comes.
      if (interrupted_) return fail(ErrorKind::kIo, "interrupted");
      if (progress.left() <= milliseconds(0)) return fail(ErrorKind::kIo, "the reply comes too slowly");
    } else if (got == 0) {
      return fail(ErrorKind::kIo, "closed by the server");
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      return fail(ErrorKind::kIo, "{}", std::strerror(errno));
    } else {
      OXBOW_TRY(wait(POLLIN, progress));
    }
  }
}

// Until the socket is ready; an error when the time is up.
Status RedisConnection::wait(short events, const Progress& progress) const {
  for (;;) {
    if (interrupted_) return fail(ErrorKind::kIo, "interrupted");
    const milliseconds left = progress.left();
    if (left <= milliseconds(0))
      return fail(ErrorKind::kIo, "no answer within {} ms", progress.timeout.count());
    pollfd descriptor{.fd = context_->fd, .events = events, .revents = 0};
    const int ready = ::poll(&descriptor, 1, static_cast<int>(std::min(left, kSlice).count()));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return fail(ErrorKind::kIo, "{}", std::strerror(errno));
  }
}

}  // namespace oxbow::stores
