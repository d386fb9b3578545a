#include "server/http.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "server/request_reader.h"

namespace oxbow::server {
namespace {

std::string header_of(const Response& response, std::string_view name) {
  for (const Header& header : response.headers) {
    if (same_header_name(header.name, name)) return header.value;
  }
  return "";
}

TEST(Errors, HaveOneShape) {
  const Response response =
      error_response({.status = 400, .code = "invalid_value", .message = "bad \"n\"", .parameter = "n"});
  EXPECT_EQ(
      response.body,
      R"({"error":{"message":"bad \"n\"","type":"invalid_request_error","param":"n","code":"invalid_value"}})");
  EXPECT_EQ(error_json({.status = 404, .code = "not_found", .message = "\xff"}),
            "{\"error\":{\"message\":\"\xEF\xBF\xBD\",\"type\":\"not_found_error\",\"param\":null,\"code\":"
            "\"not_found\"}}");
}

TEST(Errors, SayWhetherTryingAgainHelps) {
  EXPECT_EQ(header_of(error_response({.status = 500, .code = "x"}), "x-should-retry"), "false");
  EXPECT_EQ(header_of(error_response({.status = 400, .code = "x"}), "x-should-retry"), "");
  const Response later = error_response({.status = 429, .code = "queue_full", .retry_after = 3});
  EXPECT_EQ(header_of(later, "x-should-retry"), "true");
  EXPECT_EQ(header_of(later, "Retry-After"), "3");
}

TEST(Request, ValuesOfTheQueryAreUnescaped) {
  Request request;
  request.query = "a=1&b=x%20y+z&flag&c=%zz&=q&a=2";
  EXPECT_EQ(request.query_value("a"), "1");
  EXPECT_EQ(request.query_value("b"), "x y z");
  EXPECT_EQ(request.query_value("flag"), "");
  EXPECT_EQ(request.query_value("c"), std::nullopt);
  EXPECT_EQ(request.query_value("missing"), std::nullopt);
}

// Everything the reader says about the bytes, cut into pieces of `step`.
std::string read(std::string_view all, size_t step, const ReadLimits& limits = {}) {
  std::string said, waiting;
  RequestReader reader(limits);
  while (true) {
    std::string_view rest = waiting;
    const auto progress = reader.feed(rest);
    waiting.erase(0, waiting.size() - rest.size());
    if (progress == RequestReader::Progress::kHead) {
      const Request& r = reader.request();
      said += fmt::format("{} {} ?{} {} headers{} ", r.method, r.path, r.query, r.headers.size(),
                          reader.has_body() ? " body" : "");
    } else if (progress == RequestReader::Progress::kComplete) {
      said += "[" + reader.request().body + (reader.keep_alive() ? "] " : "]. ");
      reader = RequestReader(limits);
    } else if (progress == RequestReader::Progress::kFailed) {
      return said + std::to_string(reader.error().status);
    } else {
      if (all.empty()) return said + (reader.has_begun() ? "..." : "end");
      waiting += all.substr(0, step);
      all.remove_prefix(std::min(step, all.size()));
    }
  }
}

TEST(RequestReader, SaysTheSameHoweverTheBytesAreCut) {
  const std::string_view requests[] = {
      "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n\r\nPOST /d HTTP/1.0\r\nContent-Length: 3\r\n\r\nabcGET",
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\nA;q=\"r\"\r\n0123456789\r\n0\r\nT: u\r\n\r\nX",
      "GET http://x:80/path?q HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nExpect: nothing\r\n\r\n",
      "GET / HTTP/1.1\r\nHost x\r\n\r\n",
  };
  for (const std::string_view bytes : requests) {
    const std::string whole = read(bytes, bytes.size());
    for (const size_t step : {1, 2, 3, 7, 64}) EXPECT_EQ(read(bytes, step), whole) << step << ": " << bytes;
  }
  EXPECT_EQ(read(requests[0], 9), "GET /a ?b=c 1 headers [] POST /d ? 1 headers body [abc]. ...");
  EXPECT_EQ(read(requests[1], 9), "POST / ? 2 headers body [abc0123456789] ...");
  EXPECT_EQ(read(requests[2], 9), "GET /path ?q 2 headers []. end");
  for (size_t i = 3; i < 8; ++i) EXPECT_TRUE(read(requests[i], 9).ends_with("400")) << i;
}

TEST(RequestReader, LimitsHoldHoweverTheBytesAreCut) {
  const ReadLimits limits{.header_bytes = 200, .header_fields = 5, .body_bytes = 10};
  for (const size_t step : {1, 5, 1000}) {
    EXPECT_EQ(read("GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(300, 'a') + "\r\n\r\n", step, limits),
              "431");
    std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
    for (int i = 0; i < 10; ++i) many += "A: b\r\n";
    EXPECT_EQ(read(many + "\r\n", step, limits), "431");
    EXPECT_EQ(read("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n", step, limits), "413");
    EXPECT_TRUE(
        read("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n6\r\nabcdef\r\n",
             step, limits)
            .ends_with("413"));
    EXPECT_TRUE(
        read("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(500, 'e'),
             step, limits)
            .ends_with("431"));
  }
}

}  // namespace
}  // namespace oxbow::server
