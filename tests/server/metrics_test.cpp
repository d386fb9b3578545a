#include "server/metrics.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "server/prometheus.h"

namespace oxbow::server {
namespace {

TEST(PrometheusText, WritesFamiliesAndEscapesLabels) {
  PrometheusText out;
  out.family("things_total", PrometheusText::Kind::kCounter, "Things");
  out.sample(3, {{"kind", "a\"b\\c\nd"}});
  EXPECT_EQ(out.text(),
            "# HELP oxbow_things_total Things\n# TYPE oxbow_things_total counter\n"
            "oxbow_things_total{kind=\"a\\\"b\\\\c\\nd\"} 3\n");
}

TEST(PrometheusText, BucketsOfHistogramsAddUp) {
  PrometheusText out;
  out.family("x_seconds", PrometheusText::Kind::kHistogram, "X");
  const double bounds[] = {0.1, 1};
  const uint64_t buckets[] = {1, 2, 3};
  out.histogram(bounds, buckets, 7.5);
  EXPECT_NE(out.text().find(
                "oxbow_x_seconds_bucket{le=\"0.1\"} 1\noxbow_x_seconds_bucket{le=\"1\"} 3\n"
                "oxbow_x_seconds_bucket{le=\"+Inf\"} 6\noxbow_x_seconds_sum 7.5\noxbow_x_seconds_count 6\n"),
            std::string::npos)
      << out.text();
}

std::string example_text() {
  Metrics metrics;
  metrics.count(
      {.route = "/v1/x", .status = 200, .request_bytes = 5, .duration = std::chrono::milliseconds(30)});
  metrics.count({.route = "/v1/x", .status = 200});
  metrics.count({.route = "", .status = 404});
  engine::Statistics statistics;
  statistics.totals.cancelled = {1, 2, 3};
  statistics.totals.missed_tokens[static_cast<size_t>(memory::Miss::kNoCheckpoint)] = 9;
  statistics.totals.time_to_first_token.add(0.3);
  const TierUse tiers[] = {{.name = "disk", .bytes = 77, .hits = 1}};
  return metrics.text({.engine = &statistics, .tiers = tiers, .load_seconds = 1.5, .ready = true});
}

TEST(Metrics, ShowsWhatWasCounted) {
  const std::string text = example_text();
  for (const char* line :
       {"oxbow_http_requests_total{route=\"/v1/x\",status=\"200\"} 2\n",
        "oxbow_http_requests_total{route=\"\",status=\"404\"} 1\n",
        "oxbow_requests_cancelled_total{phase=\"prefill\"} 2\n",
        "oxbow_cache_miss_tokens_total{reason=\"no_checkpoint\"} 9\n",
        "oxbow_time_to_first_token_seconds_bucket{le=\"0.5\"} 1\n",
        "oxbow_memory_bytes{tier=\"disk\",kind=\"checkpoints\"} 77\n", "oxbow_http_request_bytes_total 5\n",
        "oxbow_ready 1\n", "# TYPE oxbow_inter_token_latency_seconds histogram\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

TEST(Metrics, PromtoolHasNothingToSay) {
  if (std::system("command -v promtool >/dev/null") != 0)
    GTEST_SKIP() << "promtool (package prometheus) is not installed";
  const std::string path = testing::TempDir() + "oxbow_metrics.txt";
  std::ofstream(path) << example_text();
  EXPECT_EQ(std::system(("promtool check metrics < " + path).c_str()), 0);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace oxbow::server
