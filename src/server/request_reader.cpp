#include "server/request_reader.h"

#include <fmt/format.h>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace oxbow::server {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;

constexpr size_t kReservedBody = 64 << 10;  // before any of it has come

std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

ErrorAnswer answer_to(const error_code& code, const ReadLimits& limits) {
  if (code == http::error::header_limit) {
    return {.status = 431,
            .code = "header_too_large",
            .message = fmt::format("the request's header is larger than {} bytes or {} fields",
                                   limits.header_bytes, limits.header_fields)};
  }
  if (code == http::error::body_limit || code == http::error::buffer_overflow) {
    return {.status = 413,
            .code = "payload_too_large",
            .message = fmt::format("the request's body is larger than {} bytes; --max-body allows more",
                                   limits.body_bytes)};
  }
  if (code == http::error::bad_version) {
    return {.status = 400, .code = "invalid_http", .message = "expected HTTP/1.0 or HTTP/1.1"};
  }
  return {.status = 400, .code = "invalid_http", .message = "malformed HTTP: " + code.message()};
}

}  // namespace

// Beast's parser bounds what it looks at in one call; the totals are counted here.
class RequestReader::Parser final : public http::basic_parser<true> {
 public:
  explicit Parser(const ReadLimits& limits) : limits_(limits) {
    header_limit(static_cast<uint32_t>(std::min<size_t>(limits.header_bytes, UINT32_MAX)));
    body_limit(limits.body_bytes);
    eager(false);  // stops after the head
  }

  void fail(const error_code& code) { error_ = answer_to(code, limits_); }
  void fail(ErrorAnswer error) { error_ = std::move(error); }

  Request request_;
  ErrorAnswer error_;
  bool http_1_1_ = false;
  bool expects_continue_ = false;

 private:
  using string_view = boost::beast::string_view;

  void on_request_impl(http::verb, string_view method, string_view target, int version,
                       error_code& code) override {
    http_1_1_ = version == 11;
    count(method.size() + target.size() + 12, code);
    request_.method = view(method);
    std::string_view path = view(target);
    // The absolute form is for proxies, but servers must take it.
    if (path.starts_with("http://") || path.starts_with("https://")) {
      path.remove_prefix(std::min(path.find('/', path.find("//") + 2), path.size()));
    }
    path = path.substr(0, path.find('#'));
    const size_t question = std::min(path.find('?'), path.size());
    request_.path = path.substr(0, question);
    request_.query = path.substr(std::min(question + 1, path.size()));
  }
  void on_response_impl(int, string_view, int, error_code&) override {}

  void on_field_impl(http::field field, string_view name, string_view value, error_code& code) override {
    if (++fields_ > limits_.header_fields) code = http::error::header_limit;
    count(name.size() + value.size() + 4, code);
    if (code || is_header_done_) return;  // trailers count, and are dropped
    if (field == http::field::host && ++hosts_ > 1) code = http::error::bad_field;
    if (field == http::field::transfer_encoding && !same_header_name(view(value), "chunked")) {
      code = http::error::bad_transfer_encoding;  // its end would be a guess
    }
    if (field == http::field::expect) {
      if (same_header_name(view(value), "100-continue")) {
        expects_continue_ = http_1_1_;
      } else {
        code = http::error::bad_value;
      }
    }
    request_.headers.push_back({std::string(view(name)), std::string(view(value))});
  }

  void on_header_impl(error_code& code) override {
    is_header_done_ = true;
    if (http_1_1_ && hosts_ == 0) code = http::error::bad_field;
  }

  void on_body_init_impl(const boost::optional<uint64_t>& length, error_code&) override {
    if (length) request_.body.reserve(std::min<size_t>(*length, kReservedBody));
  }
  size_t on_body_impl(string_view bytes, error_code& code) override { return append(bytes, code); }
  void on_chunk_header_impl(uint64_t, string_view, error_code&) override {}
  size_t on_chunk_body_impl(uint64_t, string_view bytes, error_code& code) override {
    return append(bytes, code);
  }
  void on_finish_impl(error_code&) override {}

  void count(size_t bytes, error_code& code) {
    header_bytes_ += bytes;
    if (header_bytes_ > limits_.header_bytes) code = http::error::header_limit;
  }

  size_t append(string_view bytes, error_code& code) {
    if (bytes.size() > limits_.body_bytes - request_.body.size()) {
      code = http::error::body_limit;
      return 0;
    }
    request_.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  ReadLimits limits_;
  size_t header_bytes_ = 0, fields_ = 0, hosts_ = 0;
  bool is_header_done_ = false;
};

RequestReader::RequestReader(const ReadLimits& limits)
    : parser_(std::make_unique<Parser>(limits)), unconsumed_limit_(limits.header_bytes) {}
RequestReader::~RequestReader() = default;
RequestReader::RequestReader(RequestReader&&) noexcept = default;
RequestReader& RequestReader::operator=(RequestReader&&) noexcept = default;

Request& RequestReader::request() {
  return parser_->request_;
}
bool RequestReader::keep_alive() const {
  return parser_->keep_alive();
}
bool RequestReader::is_http_1_1() const {
  return parser_->http_1_1_;
}
bool RequestReader::has_body() const {
  return !parser_->is_done();
}
bool RequestReader::expects_continue() const {
  return parser_->expects_continue_;
}
const ErrorAnswer& RequestReader::error() const {
  return parser_->error_;
}

RequestReader::Progress RequestReader::feed(std::string_view& bytes) {
  // Empty lines before a request are no part of it.
  while (!has_begun_ && !bytes.empty() && (bytes.front() == '\r' || bytes.front() == '\n'))
    bytes.remove_prefix(1);
  while (true) {
    if (parser_->is_header_done() && !told_head_) {
      told_head_ = true;
      return Progress::kHead;
    }
    if (parser_->is_done()) return Progress::kComplete;
    if (bytes.empty()) return Progress::kNeedMore;
    has_begun_ = true;
    error_code code;
    const size_t taken = parser_->put(boost::asio::buffer(bytes.data(), bytes.size()), code);
    bytes.remove_prefix(taken);
    if (code == http::error::need_more) {
      if (bytes.size() < unconsumed_limit_) return Progress::kNeedMore;
      // A line without an end: of the head, or a chunk's extensions.
      code = http::error::header_limit;
    }
    if (code) {
      parser_->fail(code);
      return Progress::kFailed;
    }
  }
}

}  // namespace oxbow::server
