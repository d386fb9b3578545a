#pragma once
// What a handler sees of HTTP: a request, a whole response, and the exchange that joins the two.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace oxbow::server {

struct Header {
  std::string name;
  std::string value;
};

// Case-insensitive, as header names are.
bool same_header_name(std::string_view a, std::string_view b);

// A request that was read whole and passed the checks of its route (key, host, origin, limits).
struct Request {
  std::string method;  // "GET"
  std::string path;    // as sent, escapes kept, without the query
  std::string query;   // as sent, without the question mark
  std::vector<Header> headers;
  std::string body;
  std::string peer;  // "127.0.0.1:52100", or "unix"
  std::string id;    // of x-request-id: the client's, else one made here; goes out with the answer
  // Which API key was used: a digest, never the key. Empty when the server asks for none. Cached prefixes are
  // partitioned by it.
  std::string client;
  std::string route;                                            // the pattern that matched: "/slots/{id}"
  std::vector<std::pair<std::string, std::string>> parameters;  // of the pattern, unescaped
  std::chrono::steady_clock::time_point received;               // when the last byte of it was read

  // The first header of that name; empty when there is none.
  std::string_view header(std::string_view name) const;
  // The value of a name in braces of the route's pattern; empty when the pattern has none.
  std::string_view parameter(std::string_view name) const;
  // The unescaped value of the first such key in the query; "" for a key without a value.
  std::optional<std::string> query_value(std::string_view key) const;
};

// A whole answer. Content-Length, Connection, Date and x-request-id are added on the way out.
struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<Header> headers;
};

// The head of an answer whose body follows in pieces.
struct StreamHead {
  std::string content_type = "text/event-stream";
  std::vector<Header> headers;
  // After so long without a piece a comment line goes out, so that clients and proxies keep waiting; zero:
  // never. For event streams only.
  std::chrono::milliseconds ping_interval = std::chrono::seconds(30);
};

// One request and its answer: either respond() once, or start(), any number of pieces, and finish().
//
// All calls are safe on any thread, never block, and do nothing once the answer is complete or the client has
// left. Pieces wait in a buffer of bounded size: a client that lets it fill is cut off, as if it had left. An
// exchange that is dropped before its answer is complete answers 500, or ends its stream with an error event.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const Request& request() const = 0;

  virtual void respond(Response response) = 0;

  // Sends the head (status 200) at once. Event streams get Cache-Control: no-cache and X-Accel-Buffering: no.
  virtual void start(StreamHead head) = 0;
  // Sends bytes of the body as they are. False when nobody will read them: the work can stop.
  virtual bool send(std::string_view bytes) = 0;
  virtual void finish() = 0;

  // Bytes that the client has not taken yet, for producers that can wait.
  virtual size_t buffered_bytes() const = 0;

  // False from the moment that the answer is complete or that the client is known to have left.
  virtual bool is_open() const = 0;

  // Calls back once when the answer can no longer be delivered: the client left, reads too slowly, the
  // request took longer than the server allows, or the server stops. On the I/O thread, or at once in the
  // caller's when it has happened already; must be quick. Not called after a complete answer. One callback
  // per exchange: a later one replaces an earlier.
  virtual void on_gone(std::function<void()> callback) = 0;

  // One server-sent event: "event: NAME" when there is a name, then "data: " and the data, which must have no
  // line break (JSON has none).
  bool send_event(std::string_view data, std::string_view name = {});
};

// Runs on a worker thread, or on the I/O thread for routes that say so. May keep the exchange and answer
// later from any thread.
using Handler = std::function<void(std::shared_ptr<Exchange>)>;

// The error body that every endpoint uses: {"error":{"message","type","param","code"}}.
struct ErrorAnswer {
  int status = 400;
  std::string code;  // "invalid_json"
  std::string message;
  std::string parameter;  // the field that is wrong; empty: null
  std::string type;       // empty: the usual type of the status
  int retry_after = 0;    // seconds; 0: no Retry-After
  // Stock clients repeat 408, 409, 429 and everything from 500 by themselves; what would fail again in the
  // same way must say so.
  std::optional<bool> should_retry;
};

// "invalid_request_error" for 400, "authentication_error" for 401, and so on.
std::string_view error_type(int status);
// The JSON text of the error alone, as it goes into a body or, after "data: ", into a stream that has begun.
std::string error_json(const ErrorAnswer& error);
Response error_response(const ErrorAnswer& error);

// "Not Found" for 404.
std::string_view status_text(int status);

// "%2F" -> "/"; nothing for broken escapes. plus_is_space: as in queries.
std::optional<std::string> unescape_url(std::string_view text, bool plus_is_space = false);

}  // namespace oxbow::server
