#include "store/redis_options.h"

#include <algorithm>
#include <charconv>

#include "base/mapped_file.h"

namespace oxbow::stores {
namespace {

constexpr size_t kShortestKey = 16;
constexpr size_t kLongestKey = 4096;

}  // namespace

Result<RedisServer> parse_redis_server(std::string_view text) {
  RedisServer server;
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    const std::string_view rest = end == std::string_view::npos ? "x" : text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') host = {};
    if (!host.empty()) host = text.substr(1, end - 1);
    if (!rest.empty()) port = rest.substr(1);
    if (!rest.empty() && port.empty()) host = {};
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    host = text.substr(0, text.find(':'));
    port = text.substr(host.size() + 1);
    if (port.empty()) host = {};
  }
  unsigned number = server.port;
  if (!port.empty()) {
    const auto parsed = std::from_chars(port.data(), port.data() + port.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != port.data() + port.size()) number = 0;
  }
  if (host.empty() || host.find_first_of("[] \t\r\n") != std::string_view::npos || number == 0 ||
      number > 65535) {
    return fail(ErrorKind::kInvalidInput, "'{}' is no server: expected HOST:PORT", text);
  }
  server.host = host;
  server.port = static_cast<uint16_t>(number);
  return server;
}

Result<std::vector<std::byte>> read_key_file(const std::string& path) {
  OXBOW_ASSIGN(const MappedFile file, MappedFile::open(path));
  auto bytes = file.bytes();
  while (!bytes.empty() && (bytes.back() == std::byte{'\n'} || bytes.back() == std::byte{'\r'})) {
    bytes = bytes.first(bytes.size() - 1);
  }
  if (bytes.size() < kShortestKey || bytes.size() > kLongestKey) {
    return fail(ErrorKind::kInvalidInput, "{}: a key of {} bytes, expected {} to {}", path, bytes.size(),
                kShortestKey, kLongestKey);
  }
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

}  // namespace oxbow::stores
