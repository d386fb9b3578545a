#include "server/router.h"

#include <gtest/gtest.h>

namespace oxbow::server {
namespace {

Router example() {
  Router router;
  const Handler nothing = [](const std::shared_ptr<Exchange>&) {};
  router.add("GET", "/v1/models", nothing);
  router.add("GET", "/v1/models/{id*}", nothing);
  router.add("POST", "/slots/{id}", nothing);
  router.add("POST", "/v1/chat/completions", nothing);
  router.add("GET", "/props", nothing);
  router.add("POST", "/props", nothing);
  return router;
}

TEST(Router, FindsAPathAndItsParameters) {
  const Router router = example();
  const auto plain = router.find("GET", "/v1/models");
  ASSERT_TRUE(std::holds_alternative<Router::Match>(plain));
  EXPECT_EQ(std::get<Router::Match>(plain).route->pattern, "/v1/models");
  EXPECT_TRUE(std::get<Router::Match>(plain).parameters.empty());

  const auto slot = router.find("POST", "/slots/7%2f8");
  ASSERT_TRUE(std::holds_alternative<Router::Match>(slot));
  EXPECT_EQ(std::get<Router::Match>(slot).parameters[0].second, "7/8");
}

TEST(Router, TheRestOfAPathMayHoldSlashes) {
  const Router router = example();
  const auto found = router.find("GET", "/v1/models/maker/name%20x");
  ASSERT_TRUE(std::holds_alternative<Router::Match>(found));
  EXPECT_EQ(std::get<Router::Match>(found).parameters[0].first, "id");
  EXPECT_EQ(std::get<Router::Match>(found).parameters[0].second, "maker/name x");
}

TEST(Router, HeadIsServedByGet) {
  EXPECT_TRUE(std::holds_alternative<Router::Match>(example().find("HEAD", "/v1/models")));
}

TEST(Router, AWrongMethodSaysWhichOnesAreAllowed) {
  const Router router = example();
  const auto found = router.find("PUT", "/props");
  ASSERT_TRUE(std::holds_alternative<Router::WrongMethod>(found));
  EXPECT_EQ(std::get<Router::WrongMethod>(found).allow, "GET, HEAD, POST, OPTIONS");
}

TEST(Router, AnUnknownPathNamesTheNearestOne) {
  const Router router = example();
  const auto nearest = [&](std::string_view path) {
    const auto found = router.find("POST", path);
    return std::holds_alternative<Router::NotFound>(found) ? std::get<Router::NotFound>(found).nearest : "?";
  };
  EXPECT_EQ(nearest("/chat/completions"), "/v1/chat/completions");
  EXPECT_EQ(nearest("/v1/chat/completion"), "/v1/chat/completions");
  EXPECT_EQ(nearest("/v1/model"), "/v1/models");
  EXPECT_EQ(nearest("/something/entirely/different"), "");
  EXPECT_EQ(nearest(std::string(100'000, '/')), "");
}

TEST(Router, BrokenEscapesAndEmptyParametersMatchNothing) {
  const Router router = example();
  for (const char* path :
       {"/slots/%zz", "/slots/%4", "/slots/", "/slots", "", "x", "/slots/1/", "//slots/1"}) {
    EXPECT_TRUE(std::holds_alternative<Router::NotFound>(router.find("POST", path))) << path;
  }
}

}  // namespace
}  // namespace oxbow::server
