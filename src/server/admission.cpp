#include "server/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace oxbow::server {
namespace {

constexpr size_t kMaxIdBytes = 128;
constexpr int kRetryWhileDraining = 5;  // seconds: another instance may be there by then

bool is_plain_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxIdBytes && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == ':';
  });
}

std::string new_id() {
  static thread_local std::mt19937_64 random{(uint64_t{std::random_device{}()} << 32) ^
                                             std::random_device{}()};
  return fmt::format("req_{:016x}", random());
}

Response not_found(const Router::NotFound& missing) {
  return error_response({.status = 404,
                         .code = "not_found",
                         .message = missing.nearest.empty()
                                        ? std::string("there is no such path")
                                        : "there is no such path; the nearest is " + missing.nearest});
}

Response wrong_method(const Router::WrongMethod& wrong) {
  Response response = error_response(
      {.status = 405, .code = "method_not_allowed", .message = "this path allows " + wrong.allow});
  response.headers.push_back({"Allow", wrong.allow});
  return response;
}

// A page of another site can post forms without asking first, but not JSON.
bool is_form_of_a_page(const Request& request) {
  if (request.method != "POST" || request.header("origin").empty()) return false;
  std::string type(request.header("content-type"));
  std::ranges::transform(type, type.begin(),
                         [](unsigned char c) { return static_cast<char>(c < 128 ? std::tolower(c) : c); });
  return type.find("json") == type.npos;
}

}  // namespace

std::variant<const Route*, Response> Admission::decide(Request& request) const {
  const std::string_view id = request.header("x-request-id");
  request.id = is_plain_id(id) ? std::string(id) : new_id();

  auto found = router_.find(request.method, request.path);
  const auto* match = std::get_if<Router::Match>(&found);
  if (match != nullptr) request.route = match->route->pattern;
  const bool is_options = request.method == "OPTIONS" && match == nullptr;
  const bool is_open = is_options || (match != nullptr && match->route->options.open);
  if (auto refusal = access_.refuse(request, !is_open)) return std::move(*refusal);

  if (const auto* missing = std::get_if<Router::NotFound>(&found)) {
    if (is_options && request.path == "*") return access_.preflight(request, "GET, POST, OPTIONS");
    return not_found(*missing);
  }
  if (const auto* wrong = std::get_if<Router::WrongMethod>(&found)) {
    return is_options ? access_.preflight(request, wrong->allow) : wrong_method(*wrong);
  }
  if (match->route->options.needs_model) {
    if (readiness_.draining()) {
      return error_response({.status = 503,
                             .code = "shutting_down",
                             .message = "the server is shutting down",
                             .retry_after = kRetryWhileDraining});
    }
    if (!readiness_.ready()) {
      return error_response(
          {.status = 503,
           .code = "model_loading",
           .message = fmt::format("the model is being loaded ({:.0f} %)", 100 * readiness_.progress()),
           .retry_after = readiness_.retry_seconds()});
    }
  }
  if (is_form_of_a_page(request)) {
    return error_response({.status = 415,
                           .code = "unsupported_media_type",
                           .message = "pages must send Content-Type: application/json"});
  }
  request.parameters = match->parameters;
  return match->route;
}

std::vector<Header> Admission::answer_headers(const Request& request) const {
  std::vector<Header> headers = access_.cors_headers(request);
  if (!request.id.empty()) headers.push_back({"x-request-id", request.id});
  return headers;
}

}  // namespace oxbow::server
