#pragma once
// Who may ask: API keys, the Host check, origins of web pages.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "server/http.h"

namespace oxbow::server {

struct AccessOptions {
  std::vector<std::string> keys;     // empty: no key is asked for
  std::vector<std::string> origins;  // allowed beside the local ones, "https://app.example"; "*": all
  bool loopback_only = true;  // then Host must name this machine, or a page of a stranger could have its own
                              // name resolve to 127.0.0.1
};

// Keys of a file: one a line, '#' begins a comment, blanks around them do not count. kInvalidInput when there
// is none or one has characters that no header can carry.
Result<std::vector<std::string>> read_key_file(const std::string& path);
// Keys of a flag or a variable: separated by commas.
std::vector<std::string> split_keys(std::string_view list);

// Immutable, any thread.
class AccessPolicy {
 public:
  explicit AccessPolicy(AccessOptions options);

  // The answer to a request that may not go on: 403 for a foreign Host or Origin, 401 for a wrong key. Sets
  // request.client.
  std::optional<Response> refuse(Request& request, bool needs_key) const;

  // Headers that let a page of the request's origin read the answer; none when it has no origin, or one that
  // is not allowed.
  std::vector<Header> cors_headers(const Request& request) const;
  // The answer to OPTIONS. allow: methods of the path.
  Response preflight(const Request& request, std::string_view allow) const;

  bool asks_for_key() const { return !digests_.empty(); }

 private:
  bool host_is_allowed(std::string_view host) const;
  bool origin_is_allowed(std::string_view origin, std::string_view host) const;

  AccessOptions options_;
  std::vector<std::string> digests_;  // SHA-256 of the keys: equal lengths, and no key lies in memory
};

}  // namespace oxbow::server
