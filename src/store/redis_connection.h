#pragma once
// One connection to a Redis or Valkey server that need not be a good one. The only user of hiredis.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"

struct redisContext;

namespace oxbow::stores {

struct RedisReply {
  enum class Type { kNil, kInteger, kStatus, kError, kString, kArray };

  Type type = Type::kNil;
  int64_t integer = 0;
  std::string text;     // of a status, an error or a string below kLargeBytes
  AlignedBuffer bytes;  // of a longer string
  std::vector<std::unique_ptr<RedisReply>> elements;

  static constexpr size_t kLargeBytes = 4096;
};

struct RedisServer {
  std::string host = "127.0.0.1";
  uint16_t port = 6379;
  std::string username;  // empty: the default user
  std::string password;  // empty: none is sent
  std::chrono::milliseconds connect_timeout{200};
  std::chrono::milliseconds command_timeout{1000};
};

// After any error but one that the server states as a reply, the connection is closed, and the next exchange
// makes a new one, unless less time than a growing pause (0.1 s to 30 s) has passed: then it fails at once.
// One thread at a time. (Resolving a host name is the system's business and has the system's time limits.)
class RedisConnection {
 public:
  using Command = std::vector<std::string_view>;

  // What an exchange may take from the server, so that no claim of its own can exhaust memory.
  struct Limits {
    uint64_t bytes = 1 << 16;
    uint64_t elements = 64;  // of all arrays together
  };

  // interrupted: ends an exchange early; must outlive the connection.
  RedisConnection(RedisServer server, const std::atomic<bool>& interrupted);
  ~RedisConnection();

  // Sends the commands together and takes their replies, in order, error replies included. Errors: kIo. It
  // lasts at most the time to connect, the command timeout and what the bytes need at 16 MiB/s.
  Result<std::vector<RedisReply>> exchange(std::span<const Command> commands, const Limits& limits);

 private:
  struct Progress;
  struct Close {
    void operator()(redisContext* context) const;
  };

  Status connect();
  Result<std::vector<RedisReply>> converse(std::span<const Command> commands, Limits limits);
  Status send(std::span<const Command> commands, Progress& progress);
  Status send_all(std::string_view bytes, Progress& progress);
  Result<RedisReply> receive(Progress& progress, Limits& limits);
  Status wait(short events, const Progress& progress) const;

  RedisServer server_;
  const std::atomic<bool>& interrupted_;
  std::unique_ptr<redisContext, Close> context_;
  std::unique_ptr<char[]> buffer_;
  std::chrono::milliseconds pause_{0};
  std::chrono::steady_clock::time_point retry_at_{};
};

}  // namespace oxbow::stores
