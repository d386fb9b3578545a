#pragma once
// What a user says about a Redis or Valkey server.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "store/redis_connection.h"

namespace oxbow::stores {

struct RedisOptions {
  RedisServer server;
  // Empty: the server is trusted not to change objects. Otherwise each object carries an HMAC-SHA-256 under
  // this key, and the names of objects tell keys apart.
  std::vector<std::byte> authentication_key;
  // Larger objects are neither put nor taken. Servers refuse strings above 512 MiB by default.
  uint64_t largest_bytes = uint64_t{256} << 20;
};

// "HOST", "HOST:PORT", "[IPV6]:PORT" or an IPv6 address. kInvalidInput otherwise.
Result<RedisServer> parse_redis_server(std::string_view text);

// The bytes of the file without line breaks at its end: 16 to 4096. Errors: those of reading, kInvalidInput.
Result<std::vector<std::byte>> read_key_file(const std::string& path);

}  // namespace oxbow::stores
