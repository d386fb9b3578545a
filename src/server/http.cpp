#include "server/http.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace oxbow::server {
namespace {

using Json = nlohmann::ordered_json;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char l = lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

// What stock clients repeat by themselves.
bool is_repeated(int status) {
  return status == 408 || status == 409 || status == 429 || status >= 500;
}

}  // namespace

bool same_header_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view Request::header(std::string_view name) const {
  const auto found =
      std::ranges::find_if(headers, [&](const Header& h) { return same_header_name(h.name, name); });
  return found == headers.end() ? std::string_view() : std::string_view(found->value);
}

std::string_view Request::parameter(std::string_view name) const {
  const auto found = std::ranges::find_if(parameters, [&](const auto& p) { return p.first == name; });
  return found == parameters.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<std::string> Request::query_value(std::string_view key) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    const size_t equal = std::min(pair.find('='), pair.size());
    if (unescape_url(pair.substr(0, equal), true) != key) continue;
    return unescape_url(pair.substr(std::min(equal + 1, pair.size())), true);
  }
  return std::nullopt;
}

bool Exchange::send_event(std::string_view data, std::string_view name) {
  std::string text;
  text.reserve(data.size() + name.size() + 16);
  if (!name.empty()) text.append("event: ").append(name).append("\n");
  text.append("data: ").append(data).append("\n\n");
  return send(text);
}

std::string_view error_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    case 501:
      return "not_supported_error";
    case 503:
      return "unavailable_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

std::string error_json(const ErrorAnswer& error) {
  Json body;
  body["message"] = error.message;
  body["type"] = error.type.empty() ? std::string(error_type(error.status)) : error.type;
  body["param"] = error.parameter.empty() ? Json() : Json(error.parameter);
  body["code"] = error.code;
  return Json{{"error", std::move(body)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Response error_response(const ErrorAnswer& error) {
  Response response;
  response.status = error.status;
  response.body = error_json(error);
  if (error.retry_after > 0) response.headers.push_back({"Retry-After", std::to_string(error.retry_after)});
  const std::optional<bool> retry =
      error.should_retry || !is_repeated(error.status) ? error.should_retry : error.retry_after > 0;
  if (retry) response.headers.push_back({"x-should-retry", *retry ? "true" : "false"});
  return response;
}

std::string_view status_text(int status) {
  static constexpr std::pair<int, std::string_view> kTexts[] = {
      {200, "OK"},
      {204, "No Content"},
      {304, "Not Modified"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {413, "Payload Too Large"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
  };
  const auto found = std::ranges::find_if(kTexts, [&](const auto& pair) { return pair.first == status; });
  return found == std::end(kTexts) ? "Unknown" : found->second;
}

std::optional<std::string> unescape_url(std::string_view text, bool plus_is_space) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      plain += ' ';
    } else if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_value(text[i + 1]), low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      plain += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace oxbow::server
