#include "server/operations.h"

#include "server/server_fixture.h"

namespace oxbow::server::test {
namespace {

class OperationsTest : public ServerTest {
 protected:
  OperationsTest() {
    add_operations(router, {&readiness, &metrics, [this] { return server->statistics(); },
                            [this] { return engine; }, [] { return std::vector<TierUse>(); }});
  }
  std::string ask(const std::string& path) {
    RawClient client(server->port());
    client.send(get(path));
    return client.read_answer();
  }
  static bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

  Metrics metrics;
  std::optional<engine::Statistics> engine;
};

TEST_F(OperationsTest, AliveWhileLoadingButNotReady) {
  start();
  readiness.set_progress(1, 4);
  EXPECT_TRUE(has(ask("/health"), "200 OK"));
  EXPECT_TRUE(has(ask("/livez"), "200 OK"));
  const std::string loading = ask("/readyz");
  EXPECT_TRUE(has(loading, "503 ")) << loading;
  EXPECT_TRUE(has(loading, "Retry-After: ")) << loading;
  EXPECT_TRUE(has(loading, R"({"status":"loading","loading_progress":0.25})")) << loading;
  readiness.set_ready();
  EXPECT_TRUE(has(ask("/health"), R"({"status":"ok"})"));
  EXPECT_TRUE(has(ask("/readyz"), "200 OK"));
}

TEST_F(OperationsTest, NotReadyWhenTheQueueIsFullOrItDrains) {
  engine.emplace();
  engine->queue_limit = 2;
  readiness.set_ready();
  start();
  EXPECT_TRUE(has(ask("/readyz"), "200 OK"));
  engine->queued = 2;
  EXPECT_TRUE(has(ask("/readyz"), R"("status":"busy")"));
  engine->queued = 0;
  readiness.set_draining();
  EXPECT_TRUE(has(ask("/readyz"), R"("status":"draining")"));
  EXPECT_TRUE(has(ask("/livez"), "200 OK"));
}

TEST_F(OperationsTest, MetricsAreThereBeforeTheModel) {
  start();
  const std::string text = ask("/metrics");
  EXPECT_TRUE(has(text, "text/plain; version=0.0.4")) << text;
  EXPECT_TRUE(has(text, "\noxbow_ready 0\n")) << text;
  EXPECT_TRUE(has(text, "\noxbow_http_connections 1\n")) << text;
  EXPECT_FALSE(has(text, "oxbow_prompt_tokens_total"));
}

}  // namespace
}  // namespace oxbow::server::test
