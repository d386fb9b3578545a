#include "server/access.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "base/sha256.h"

namespace oxbow::server {
namespace {

constexpr size_t kMaxKeyFileBytes = 1 << 20;

std::string digest_of(std::string_view text) {
  const Sha256Digest digest = sha256(std::as_bytes(std::span(text)));
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

bool equal_digests(std::string_view a, std::string_view b) {
  return equal_in_constant_time(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r").find(text.front()) != text.npos) text.remove_prefix(1);
  while (!text.empty() && std::string_view(" \t\r").find(text.back()) != text.npos) text.remove_suffix(1);
  return text;
}

// The key that a request carries: "Authorization: Bearer KEY" or "x-api-key: KEY".
std::string_view key_of(const Request& request) {
  const std::string_view authorization = request.header("authorization");
  constexpr std::string_view kBearer = "bearer ";
  if (authorization.size() > kBearer.size() &&
      same_header_name(authorization.substr(0, kBearer.size()), kBearer)) {
    return trimmed(authorization.substr(kBearer.size()));
  }
  return trimmed(request.header("x-api-key"));
}

// "[::1]:8080" -> "[::1]", "localhost:8080" -> "localhost".
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, std::min(host.find(']') + 1, host.size()));
  return host.substr(0, host.find(':'));
}

bool is_loopback(std::string_view host) {
  if (same_header_name(host, "localhost") || host == "[::1]") return true;
  // 127.0.0.0/8, digits and dots only: "127.evil.example" is a name.
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos;
}

Response refusal(int status, std::string code, std::string message) {
  return error_response({.status = status, .code = std::move(code), .message = std::move(message)});
}

}  // namespace

std::vector<std::string> split_keys(std::string_view list) {
  std::vector<std::string> keys;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    if (!trimmed(item).empty()) keys.emplace_back(trimmed(item));
  }
  return keys;
}

Result<std::vector<std::string>> read_key_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorKind::kNotFound, "{}: cannot read the API keys", path);
  std::string text(kMaxKeyFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxKeyFileBytes) {
    return fail(ErrorKind::kInvalidInput, "{}: longer than {} bytes, no file of API keys", path,
                kMaxKeyFileBytes);
  }
  std::vector<std::string> keys;
  std::istringstream lines(text);
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string_view key = trimmed(std::string_view(line).substr(0, line.find('#')));
    if (key.empty()) continue;
    if (std::ranges::any_of(key, [](char c) { return c <= ' ' || c >= '\x7f'; })) {
      return fail(ErrorKind::kInvalidInput, "{}:{}: a key may hold printable ASCII without blanks only", path,
                  number);
    }
    keys.emplace_back(key);
  }
  if (keys.empty()) return fail(ErrorKind::kInvalidInput, "{}: there is no API key in it", path);
  return keys;
}

AccessPolicy::AccessPolicy(AccessOptions options) : options_(std::move(options)) {
  for (const std::string& key : options_.keys) digests_.push_back(digest_of(key));
  options_.keys.clear();
}

bool AccessPolicy::host_is_allowed(std::string_view host) const {
  return !options_.loopback_only || host.empty() || is_loopback(without_port(host));
}

bool AccessPolicy::origin_is_allowed(std::string_view origin, std::string_view host) const {
  if (std::ranges::any_of(options_.origins, [&](const std::string& o) { return o == "*" || o == origin; })) {
    return true;
  }
  const size_t colon = origin.find("://");
  if (colon == origin.npos) return false;  // "null" among them: files and sandboxed frames
  const std::string_view scheme = origin.substr(0, colon), place = origin.substr(colon + 3);
  if (scheme == "http" || scheme == "https") return place == host || is_loopback(without_port(place));
  static constexpr std::array<std::string_view, 3> kApplications = {"app", "tauri", "vscode-webview"};
  return std::ranges::find(kApplications, scheme) != kApplications.end();
}

std::optional<Response> AccessPolicy::refuse(Request& request, bool needs_key) const {
  const std::string_view host = request.header("host");
  if (!host_is_allowed(host)) {
    return refusal(403, "host_not_allowed",
                   "the Host header names another machine; use http://127.0.0.1 or http://localhost, or "
                   "start the server with --host");
  }
  const std::string_view origin = request.header("origin");
  if (!origin.empty() && !origin_is_allowed(origin, host)) {
    return refusal(403, "origin_not_allowed",
                   "pages of this origin may not use the server; --cors-origins allows them");
  }
  if (digests_.empty() || !needs_key) return std::nullopt;
  const std::string digest = digest_of(key_of(request));
  bool known = false;  // every key is compared, whichever fits
  for (const std::string& candidate : digests_) known |= equal_digests(candidate, digest);
  if (known) {
    request.client = hex(digest);
    return std::nullopt;
  }
  Response response = refusal(401, "invalid_api_key",
                              key_of(request).empty() ? "an API key is needed: Authorization: Bearer KEY"
                                                      : "the API key is not one of this server's");
  response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

std::vector<Header> AccessPolicy::cors_headers(const Request& request) const {
  const std::string_view origin = request.header("origin");
  if (origin.empty() || !origin_is_allowed(origin, request.header("host"))) return {};
  return {{"Access-Control-Allow-Origin", std::string(origin)},
          {"Vary", "Origin"},
          {"Access-Control-Expose-Headers", "x-request-id, Retry-After"}};
}

Response AccessPolicy::preflight(const Request& request, std::string_view allow) const {
  Response response;
  response.status = 204;
  response.content_type.clear();
  response.headers.push_back({"Allow", std::string(allow)});
  if (request.header("origin").empty()) return response;
  response.headers.push_back({"Access-Control-Allow-Methods", std::string(allow)});
  // Any header: what is allowed is decided by the origin.
  const std::string_view wanted = request.header("access-control-request-headers");
  response.headers.push_back(
      {"Access-Control-Allow-Headers",
       wanted.empty() ? "Authorization, Content-Type, x-api-key, x-request-id" : std::string(wanted)});
  response.headers.push_back({"Access-Control-Max-Age", "600"});
  return response;
}

}  // namespace oxbow::server
