#include "server/access.h"

#include <gtest/gtest.h>

#include <fstream>

#include "server/admission.h"

namespace oxbow::server {
namespace {

Request request_with(std::vector<Header> headers, std::string method = "POST", std::string path = "/v1/x") {
  Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.headers = std::move(headers);
  return request;
}

int refused(const AccessPolicy& policy, std::vector<Header> headers, bool needs_key = true) {
  Request request = request_with(std::move(headers));
  const auto refusal = policy.refuse(request, needs_key);
  return refusal ? refusal->status : 0;
}

TEST(AccessPolicy, KeysComeInEitherHeader) {
  const AccessPolicy policy({.keys = {"alpha", "beta"}});
  EXPECT_EQ(refused(policy, {{"Authorization", "Bearer beta"}}), 0);
  EXPECT_EQ(refused(policy, {{"authorization", "bearer  alpha"}}), 0);
  EXPECT_EQ(refused(policy, {{"X-Api-Key", "alpha"}}), 0);
  EXPECT_EQ(refused(policy, {}), 401);
  EXPECT_EQ(refused(policy, {{"Authorization", "Bearer "}}), 401);
  EXPECT_EQ(refused(policy, {{"Authorization", "Bearer alphabeta"}}), 401);
  EXPECT_EQ(refused(policy, {{"Authorization", "Basic alpha"}}), 401);
  EXPECT_EQ(refused(policy, {}, false), 0);
}

TEST(AccessPolicy, ClientsAreToldApartByTheirKeyWhichIsNotKept) {
  const AccessPolicy policy({.keys = {"alpha", "beta"}});
  Request a = request_with({{"x-api-key", "alpha"}}), b = request_with({{"x-api-key", "beta"}});
  ASSERT_FALSE(policy.refuse(a, true));
  ASSERT_FALSE(policy.refuse(b, true));
  EXPECT_NE(a.client, b.client);
  EXPECT_EQ(a.client.size(), 64u);
  Request refusal = request_with({});
  EXPECT_EQ(policy.refuse(refusal, true)->headers.back().name, "WWW-Authenticate");
}

TEST(AccessPolicy, OnLoopbackOnlyNamesOfThisMachineAreHosts) {
  const AccessPolicy local({.loopback_only = true}), open({.loopback_only = false});
  for (const char* host :
       {"localhost", "localhost:8080", "127.0.0.1:1", "127.1.2.3", "[::1]:80", "LOCALHOST"}) {
    EXPECT_EQ(refused(local, {{"Host", host}}), 0) << host;
  }
  for (const char* host :
       {"evil.example", "127.evil.example", "localhost.evil.example", "[::2]", "[", "10.0.0.1"}) {
    EXPECT_EQ(refused(local, {{"Host", host}}), 403) << host;
    EXPECT_EQ(refused(open, {{"Host", host}}), 0) << host;
  }
}

TEST(AccessPolicy, PagesOfStrangersMayNotAsk) {
  const AccessPolicy policy({.origins = {"https://app.example"}, .loopback_only = false});
  const auto from = [&](const char* origin) {
    return refused(policy, {{"Host", "box.example:8080"}, {"Origin", origin}});
  };
  for (const char* origin :
       {"http://localhost:3000", "https://127.0.0.1", "http://[::1]:5", "app://obsidian.md",
        "tauri://localhost", "vscode-webview://abc", "https://app.example", "http://box.example:8080"}) {
    EXPECT_EQ(from(origin), 0) << origin;
  }
  for (const char* origin :
       {"https://evil.example", "null", "file://", "https://app.example.evil.example", "localhost"}) {
    EXPECT_EQ(from(origin), 403) << origin;
  }
  EXPECT_EQ(refused(AccessPolicy({.origins = {"*"}}), {{"Origin", "https://evil.example"}}), 0);
}

TEST(AccessPolicy, AnswersCarryTheOriginThatMayReadThem) {
  const AccessPolicy policy({});
  EXPECT_TRUE(policy.cors_headers(request_with({})).empty());
  EXPECT_TRUE(policy.cors_headers(request_with({{"Origin", "https://evil.example"}})).empty());
  const auto headers = policy.cors_headers(request_with({{"Origin", "http://localhost:3000"}}));
  ASSERT_FALSE(headers.empty());
  EXPECT_EQ(headers[0].value, "http://localhost:3000");
}

TEST(AccessPolicy, KeyFilesHaveCommentsAndAreChecked) {
  const std::string path = testing::TempDir() + "keys.txt";
  const auto read = [&](std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
    return read_key_file(path);
  };
  EXPECT_EQ(read("# ours\n one \r\n\ntwo # of a friend\nthree").value(),
            (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_FALSE(read("# none\n\n"));
  EXPECT_NE(read("good\nnot good\n").error().message.find(":2:"), std::string::npos);
  EXPECT_FALSE(read(std::string(3 << 20, 'k')));
  EXPECT_FALSE(read_key_file(path + ".missing"));
  EXPECT_EQ(split_keys(" a, ,b,"), (std::vector<std::string>{"a", "b"}));
}

class AdmissionTest : public testing::Test {
 protected:
  AdmissionTest() {
    router.add("GET", "/health", nothing, {.open = true});
    router.add("POST", "/v1/x", nothing, {.needs_model = true});
    readiness.set_ready();
  }
  int decide(Request request) {
    const auto decision = Admission(router, access, readiness).decide(request);
    id = request.id;
    if (const auto* response = std::get_if<Response>(&decision)) {
      answer = *response;
      return response->status;
    }
    return 0;
  }

  const Handler nothing = [](const std::shared_ptr<Exchange>&) {};
  Router router;
  AccessPolicy access{AccessOptions{.keys = {"k"}}};
  Readiness readiness;
  std::string id;
  Response answer;
};

TEST_F(AdmissionTest, EverythingButHealthNeedsTheKey) {
  EXPECT_EQ(decide(request_with({}, "GET", "/health")), 0);
  EXPECT_EQ(decide(request_with({})), 401);
  EXPECT_EQ(decide(request_with({}, "GET", "/unknown")), 401);
  EXPECT_EQ(decide(request_with({}, "GET", "/v1/x")), 401);
  EXPECT_EQ(decide(request_with({{"x-api-key", "k"}})), 0);
}

TEST_F(AdmissionTest, PreflightsNeedNoKeyButAnAllowedOrigin) {
  EXPECT_EQ(decide(request_with(
                {{"Origin", "http://localhost:1"}, {"Access-Control-Request-Headers", "x-stainless-os"}},
                "OPTIONS")),
            204);
  EXPECT_EQ(answer.headers[1].value, "POST, OPTIONS");
  EXPECT_EQ(answer.headers[2].value, "x-stainless-os");
  EXPECT_EQ(decide(request_with({{"Origin", "https://evil.example"}}, "OPTIONS")), 403);
  EXPECT_EQ(decide(request_with({}, "OPTIONS", "*")), 204);
  EXPECT_EQ(decide(request_with({}, "OPTIONS", "/unknown")), 404);
}

TEST_F(AdmissionTest, FormsOfPagesAreNoRequests) {
  EXPECT_EQ(decide(request_with(
                {{"x-api-key", "k"}, {"Origin", "http://localhost:1"}, {"Content-Type", "text/plain"}})),
            415);
  EXPECT_EQ(
      decide(request_with(
          {{"x-api-key", "k"}, {"Origin", "http://localhost:1"}, {"Content-Type", "Application/JSON; x=y"}})),
      0);
}

TEST_F(AdmissionTest, IdsOfClientsAreKeptWhenTheyArePlain) {
  decide(request_with({{"x-request-id", "trace-1.2:3_4"}}));
  EXPECT_EQ(id, "trace-1.2:3_4");
  decide(request_with({{"x-request-id", "two words"}}));
  EXPECT_TRUE(id.starts_with("req_"));
  const std::string first = id;
  decide(request_with({{"x-request-id", std::string(200, 'x')}}));
  EXPECT_NE(id, first);
}

}  // namespace
}  // namespace oxbow::server
