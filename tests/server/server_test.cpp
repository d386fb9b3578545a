#include "server/server.h"

#include <malloc.h>

#include <fstream>

#include "server/server_fixture.h"

namespace oxbow::server::test {
namespace {

using namespace std::chrono_literals;

size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

TEST_F(ServerTest, AnswersRequestAfterRequestOnOneConnection) {
  start();
  RawClient client(server->port());
  for (int i = 0; i < 50; ++i) {
    const std::string body(static_cast<size_t>(i) * 100, 'x');
    ASSERT_TRUE(client.send(post("/echo", body)));
    const std::string answer = client.read_answer();
    ASSERT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    ASSERT_TRUE(answer.ends_with("\r\n\r\n" + body));
  }
  EXPECT_EQ(server->statistics().accepted, 1u);
}

TEST_F(ServerTest, PipelinedRequestsAreAnsweredInOrder) {
  start();
  RawClient client(server->port());
  std::string all;
  for (int i = 0; i < 20; ++i) all += post("/echo", "number " + std::to_string(i));
  ASSERT_TRUE(client.send(all));
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(client.read_answer().ends_with("number " + std::to_string(i)));
  }
}

TEST_F(ServerTest, RequestsThatComeByteByByteAreUnderstood) {
  start();
  RawClient client(server->port());
  for (const char c : post("/echo", "slowly")) ASSERT_TRUE(client.send({&c, 1}));
  EXPECT_TRUE(client.read_answer().ends_with("slowly"));
}

TEST_F(ServerTest, ChunkedBodiesAreJoined) {
  start();
  RawClient client(server->port());
  client.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n");
  client.send("1\r\n \r\n6\r\nworld!\r\n0\r\nTrailer: x\r\n\r\n");
  EXPECT_TRUE(client.read_answer().ends_with("hello world!"));
  client.send(get("/now"));
  EXPECT_TRUE(client.read_answer().starts_with("HTTP/1.1 200"));
}

TEST_F(ServerTest, AClientThatWaitsForContinueGetsIt) {
  start();
  RawClient client(server->port());
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("body");
  EXPECT_TRUE(client.read_answer().ends_with("body"));
}

TEST_F(ServerTest, HeadHasNoBodyAndOldClientsGetNoChunks) {
  start();
  RawClient client(server->port());
  client.send("HEAD /now HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/now"));
  EXPECT_TRUE(has(client.read_until("\r\n\r\n"), "Content-Length: 2\r\n"));
  EXPECT_TRUE(client.read_answer().ends_with("\r\n\r\n{}"));

  RawClient old(server->port());
  old.send("POST /stream HTTP/1.0\r\nContent-Length: 0\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return held_count() == 1; }));
  held_at(0)->send_event("{}");
  held_at(0)->finish();
  const std::string answer = old.read_all();
  EXPECT_TRUE(answer.ends_with("\r\n\r\ndata: {}\n\n")) << answer;
  EXPECT_FALSE(has(answer, "chunked"));
}

TEST_F(ServerTest, EventsArriveOneByOneAndTheConnectionGoesOn) {
  start();
  RawClient client(server->port());
  client.send(post("/stream", "{}", "x-request-id: my-id\r\n"));
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_TRUE(has(head, "Content-Type: text/event-stream\r\n")) << head;
  EXPECT_TRUE(has(head, "x-request-id: my-id\r\n")) << head;
  ASSERT_TRUE(eventually([&] { return held_count() == 1; }));
  const auto exchange = held_at(0);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(exchange->send_event(std::to_string(i)));
    EXPECT_TRUE(has(client.read_until("\n\n\r\n"), "data: " + std::to_string(i)));
  }
  exchange->finish();
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
  EXPECT_FALSE(exchange->send_event("late"));
  client.send(get("/now"));
  EXPECT_TRUE(client.read_answer().starts_with("HTTP/1.1 200"));
  EXPECT_EQ(gone, 0);
}

TEST_F(ServerTest, SilentStreamsSendComments) {
  ping_interval = 50ms;
  options.limits.idle_time = 40ms;  // a fine tick
  start();
  RawClient client(server->port());
  client.send(post("/stream", "{}"));
  EXPECT_TRUE(has(client.read_until(": ping\n\n"), ": ping\n\n"));
}

TEST_F(ServerTest, ErrorsSayWhatIsWrong) {
  start();
  const auto ask = [&](const std::string& request) {
    RawClient client(server->port());
    client.send(request);
    return client.read_answer();
  };
  EXPECT_TRUE(has(ask(get("/eco")), "the nearest is /echo"));
  EXPECT_TRUE(has(ask(get("/echo")), "Allow: POST, OPTIONS\r\n"));
  EXPECT_TRUE(has(ask("GARBAGE\r\n\r\n"), "400 Bad Request"));
  EXPECT_TRUE(has(ask("GET /now HTTP/1.1\r\n\r\n"), "400 Bad Request"));  // no Host
  EXPECT_TRUE(has(ask("GET /now HTTP/3.0\r\nHost: localhost\r\n\r\n"), "400 Bad Request"));
  EXPECT_TRUE(
      has(ask("GET /now HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
          "400 Bad Request"));
  EXPECT_TRUE(has(ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n"),
                  "400 Bad Request"));
  EXPECT_TRUE(has(ask(get("/throw")), "500 Internal Server Error"));
  EXPECT_TRUE(has(ask(get("/forget")), "x-should-retry: false"));
  EXPECT_TRUE(has(ask(get("/now", "Host: evil.example\r\n")), "400 Bad Request"));  // twice
}

TEST_F(ServerTest, EveryAnswerOfTheModelWaitsForTheModel) {
  start();
  RawClient client(server->port());
  readiness.set_progress(1, 4);
  client.send(get("/model"));
  std::string answer = client.read_answer();
  EXPECT_TRUE(has(answer, "503 Service Unavailable")) << answer;
  EXPECT_TRUE(has(answer, "Retry-After: ")) << answer;
  EXPECT_TRUE(has(answer, "model_loading")) << answer;
  readiness.set_ready();
  client.send(get("/model"));
  EXPECT_TRUE(client.read_answer().starts_with("HTTP/1.1 200"));
  readiness.set_draining();
  RawClient late(server->port());
  late.send(get("/model"));
  answer = late.read_answer();
  EXPECT_TRUE(has(answer, "shutting_down")) << answer;
}

// --- Limits
// -----------------------------------------------------------------------------------------------------

TEST_F(ServerTest, LargeHeadersAreRefused) {
  start();
  RawClient client(server->port());
  client.send("GET /now HTTP/1.1\r\nHost: localhost\r\n");
  // A server that stops reading makes the sending fail, which is fine, too.
  for (int i = 0; i < 400'000 && client.send("X-" + std::to_string(i) + ": y\r\n"); ++i) {
  }
  EXPECT_TRUE(client.read_answer().starts_with("HTTP/1.1 431"));

  RawClient line(server->port());
  line.send("GET /" + std::string(100'000, 'a'));
  EXPECT_TRUE(line.read_answer().starts_with("HTTP/1.1 431"));

  RawClient trailers(server->port());
  trailers.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n");
  for (int i = 0; i < 10'000 && trailers.send("X-" + std::to_string(i) + ": y\r\n"); ++i) {
  }
  EXPECT_TRUE(trailers.read_answer().starts_with("HTTP/1.1 431"));
}

TEST_F(ServerTest, LargeBodiesAreRefusedAndCostNoMemory) {
  options.limits.body_bytes = 1 << 20;
  start();
  RawClient announced(server->port());
  announced.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 314572800\r\n\r\n");
  const std::string block(1 << 16, 'b');
  for (int i = 0; i < 32; ++i) announced.send(block);
  EXPECT_TRUE(announced.read_answer().starts_with("HTTP/1.1 413"));

  ::malloc_trim(0);
  const size_t before = resident_bytes();
  RawClient chunked(server->port());
  chunked.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  size_t sent = 0;
  for (int i = 0; i < 4800 && chunked.send("10000\r\n" + block + "\r\n"); ++i) sent += block.size();
  EXPECT_TRUE(chunked.read_answer().starts_with("HTTP/1.1 413")) << sent;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(resident_bytes(), before + (64u << 20));
#endif
}

TEST_F(ServerTest, SlowRequestsAreCut) {
  options.limits.header_time = 100ms;
  options.limits.body_time = 100ms;
  options.limits.idle_time = 200ms;
  start();
  RawClient head(server->port()), body(server->port()), idle(server->port());
  head.send("GET /now HT");
  body.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_TRUE(head.read_all().starts_with("HTTP/1.1 408"));
  EXPECT_TRUE(body.read_all().starts_with("HTTP/1.1 408"));
  EXPECT_EQ(idle.read_all(), "");
  EXPECT_TRUE(eventually([&] { return server->statistics().connections == 0; }));
}

TEST_F(ServerTest, RequestsThatTakeTooLongEndWithAnError) {
  options.limits.request_time = 100ms;
  start();
  RawClient whole(server->port()), stream(server->port());
  whole.send(post("/hold", ""));
  stream.send(post("/stream", ""));
  EXPECT_TRUE(whole.read_all().starts_with("HTTP/1.1 504"));
  EXPECT_TRUE(has(stream.read_all(), "data: {\"error\":"));
  EXPECT_EQ(gone, 2);
}

TEST_F(ServerTest, TooManyConnectionsAreToldSo) {
  options.limits.connections = 4;
  start();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<RawClient>(server->port()));
    clients.back()->send(post("/hold", ""));
  }
  ASSERT_TRUE(eventually([&] { return held_count() == 4; }));
  RawClient fifth(server->port());
  fifth.send(get("/now"));
  EXPECT_TRUE(has(fifth.read_all(), "too_many_connections"));
  // One that waits between requests makes room.
  held_at(0)->respond({});
  EXPECT_TRUE(clients[0]->read_answer().starts_with("HTTP/1.1 200"));
  ASSERT_TRUE(eventually([&] { return server->statistics().connections <= 4; }));
  RawClient sixth(server->port());
  sixth.send(get("/now"));
  EXPECT_TRUE(sixth.read_answer().starts_with("HTTP/1.1 200"));
}

// --- Clients that leave
// -----------------------------------------------------------------------------------------

TEST_F(ServerTest, AClientThatLeavesIsNoticedInEveryPhase) {
  options.limits.header_time = 10s;
  start();
  const size_t before = open_descriptors();
  for (int round = 0; round < 2; ++round) {
    const bool with_reset = round == 1;
    RawClient fresh(server->port()), head(server->port()), body(server->port()), held_back(server->port()),
        stream(server->port());
    head.send("GET /n");
    body.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc");
    held_back.send(post("/hold", "{}"));
    stream.send(post("/stream", "{}"));
    ASSERT_TRUE(eventually([&] { return held_count() == 2 && server->statistics().connections == 5; }));
    for (RawClient* client : {&fresh, &head, &body, &held_back, &stream}) {
      with_reset ? client->reset() : client->close();
    }
    ASSERT_TRUE(eventually([&] { return gone == 2 && server->statistics().connections == 0; })) << round;
    EXPECT_FALSE(held_at(0)->is_open());
    EXPECT_FALSE(held_at(1)->send_event("{}"));
    held.clear();
    gone = 0;
    EXPECT_TRUE(eventually([&] { return server->statistics().requests == 0; }));
  }
  EXPECT_TRUE(eventually([&] { return open_descriptors() == before; }));
}

TEST_F(ServerTest, AClientThatLeavesBehindAPileOfRequestsIsNoticed) {
  start();
  RawClient client(server->port());
  client.send(post("/hold", ""));
  ASSERT_TRUE(eventually([&] { return held_count() == 1; }));
  client.send(std::string(70'000, 'x'));  // more than the server reads ahead
  client.close();
  EXPECT_TRUE(eventually([&] { return gone == 1; }));
}

TEST_F(ServerTest, AReaderThatIsTooSlowIsCutOff) {
  options.limits.buffered_bytes = 1 << 20;
  start();
  RawClient client(server->port());
  client.send(post("/stream", "{}"));
  ASSERT_TRUE(eventually([&] { return held_count() == 1; }));
  const std::string block(10'000, 'e');
  int sent = 0;
  while (sent < 100'000 && held_at(0)->send_event(block)) ++sent;
  EXPECT_LT(sent, 100'000);  // the system's own buffers take some
  EXPECT_TRUE(eventually([&] { return gone == 1 && server->statistics().connections == 0; }));
}

TEST_F(ServerTest, AReaderThatTakesNothingIsCutOff) {
  options.limits.write_time = 200ms;
  options.limits.buffered_bytes = 64 << 20;
  start();
  RawClient client(server->port());
  client.send(post("/stream", "{}"));
  ASSERT_TRUE(eventually([&] { return held_count() == 1; }));
  ASSERT_TRUE(held_at(0)->send(std::string(32 << 20, 'x')));
  EXPECT_TRUE(eventually([&] { return gone == 1; }));
}

TEST_F(ServerTest, ALateCallbackIsCalledAtOnce) {
  start();
  RawClient client(server->port());
  client.send(post("/hold", ""));
  ASSERT_TRUE(eventually([&] { return held_count() == 1; }));
  client.close();
  ASSERT_TRUE(eventually([&] { return gone == 1; }));
  bool called = false;
  held_at(0)->on_gone([&] { called = true; });
  EXPECT_TRUE(called);
}

TEST_F(ServerTest, HundredsOfRandomDisconnectsLeaveNothingBehind) {
  router.add("POST", "/short", [](const std::shared_ptr<Exchange>& e) {
    e->start({});
    for (int i = 0; i < 20; ++i) e->send_event(std::string(100, 'a'));
    e->finish();
  });
  start();
  const size_t before = open_descriptors();
  unsigned random = 7;
  for (int i = 0; i < 600; ++i) {
    random = random * 1664525 + 1013904223;
    RawClient client(server->port());
    ASSERT_TRUE(client.is_connected());
    const std::string request = post("/short", std::string(random >> 20, 'b'));
    const std::string_view part = std::string_view(request).substr(0, (random >> 8) % (request.size() * 2));
    client.send(part);
    if ((random & 64) != 0 && part.size() == request.size()) client.read_until("data: ");
    random & 32 ? client.reset() : client.close();
  }
  EXPECT_TRUE(eventually([&] {
    const auto now = server->statistics();
    return now.connections == 0 && now.requests == 0 && open_descriptors() == before;
  }));
}

// --- The end
// ----------------------------------------------------------------------------------------------------

TEST_F(ServerTest, DrainingFinishesWhatRunsAndRefusesTheRest) {
  readiness.set_ready();
  start();
  RawClient running(server->port()), idle(server->port());
  running.send(post("/stream", "{}"));
  idle.send(get("/now"));
  idle.read_answer();
  ASSERT_TRUE(eventually([&] { return held_count() == 1; }));
  readiness.set_draining();
  EXPECT_FALSE(server->drain(20ms));
  EXPECT_EQ(idle.read_all(), "");
  RawClient late(server->port());
  late.send(get("/model"));
  const std::string refused = late.read_all();
  EXPECT_TRUE(has(refused, "shutting_down")) << refused;
  EXPECT_TRUE(has(refused, "Connection: close")) << refused;
  held_at(0)->send_event("last");
  held_at(0)->finish();
  EXPECT_TRUE(has(running.read_all(), "data: last\n\n"));
  EXPECT_TRUE(server->drain(10s));
  EXPECT_EQ(gone, 0);
}

TEST_F(ServerTest, WhatDoesNotFinishEndsWithAnError) {
  start();
  RawClient stream(server->port()), whole(server->port());
  stream.send(post("/stream", "{}"));
  whole.send(post("/hold", "{}"));
  ASSERT_TRUE(eventually([&] { return held_count() == 2; }));
  readiness.set_draining();
  EXPECT_FALSE(server->drain(20ms));
  server->end_requests();
  EXPECT_TRUE(server->drain(10s));
  EXPECT_TRUE(has(stream.read_all(), "\"code\":\"shutting_down\""));
  EXPECT_TRUE(whole.read_all().starts_with("HTTP/1.1 503"));
  EXPECT_EQ(gone, 2);
}

TEST_F(ServerTest, ExchangesMayOutliveTheServer) {
  start();
  RawClient client(server->port());
  client.send(post("/stream", "{}"));
  ASSERT_TRUE(eventually([&] { return held_count() == 1; }));
  server.reset();
  EXPECT_EQ(gone, 1);
  EXPECT_FALSE(held_at(0)->send_event("{}"));
  held_at(0)->finish();
  held.clear();
}

TEST_F(ServerTest, ABusyPortIsNamedWithTheNextOne) {
  start();
  options.port = server->port();
  const auto second = Server::start(options, router, access, readiness);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "port " + std::to_string(options.port) + " is in use, try --port " +
                                        std::to_string(options.port + 1));
}

TEST_F(ServerTest, OutcomesAreReported) {
  start();
  {
    RawClient client(server->port());
    client.send(post("/echo", "x"));
    client.read_answer();
    client.send(post("/hold", "x"));
    ASSERT_TRUE(eventually([&] { return held_count() == 1; }));
  }
  ASSERT_TRUE(eventually([&] { return outcome_count() == 2; }));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(statuses, (std::vector<int>{200, 499}));
  EXPECT_EQ(completes, (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace oxbow::server::test
