#pragma once
// Bytes of a connection to one request, within limits. No sockets: it can be fed by tests and fuzzers.

#include <cstddef>
#include <memory>
#include <string_view>

#include "server/http.h"

namespace oxbow::server {

struct ReadLimits {
  size_t header_bytes = 16 << 10;  // request line, header fields and trailers together
  size_t header_fields = 128;
  size_t body_bytes = 16 << 20;
};

class RequestReader {
 public:
  explicit RequestReader(const ReadLimits& limits);
  ~RequestReader();
  RequestReader(RequestReader&&) noexcept;
  RequestReader& operator=(RequestReader&&) noexcept;

  enum class Progress {
    kNeedMore,  // the rest of the bytes must be shown again, with more behind them
    kHead,      // once, when all but the body is there
    kComplete,
    kFailed,  // see error()
  };
  // Takes bytes off the front. After kHead, call again with what is left.
  Progress feed(std::string_view& bytes);

  bool has_begun() const { return has_begun_; }
  Request& request();
  bool keep_alive() const;  // after the head
  bool is_http_1_1() const;
  bool has_body() const;          // after the head
  bool expects_continue() const;  // after the head: the client waits for "100 Continue" before its body
  const ErrorAnswer& error() const;

 private:
  class Parser;  // Boost.Beast
  std::unique_ptr<Parser> parser_;
  size_t unconsumed_limit_;
  bool has_begun_ = false;
  bool told_head_ = false;
};

}  // namespace oxbow::server
