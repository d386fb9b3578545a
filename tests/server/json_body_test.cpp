#include "server/json_body.h"

#include <gtest/gtest.h>

namespace oxbow::server {
namespace {

std::string problem(std::string_view text, const JsonLimits& limits = {}) {
  const auto json = parse_body(text, limits);
  if (json) return "";
  EXPECT_EQ(json.error().status, 400);
  EXPECT_EQ(json.error().code, "invalid_json");
  return json.error().message;
}

TEST(JsonBody, KeepsTheOrderOfMembers) {
  EXPECT_EQ(to_text(parse_body(R"({"z":1,"a":[true,null,"x"]})").value()), R"({"z":1,"a":[true,null,"x"]})");
}

TEST(JsonBody, RefusesWhatIsNoObject) {
  for (const char* text : {"", "[]", "1", "{", "{\"a\":}", "{\"a\":1}x", "{\"a\":\"\xff\"}"}) {
    EXPECT_NE(problem(text), "") << text;
  }
}

TEST(JsonBody, DeepAndWideValuesAreRefusedBeforeTheyAreBuilt) {
  const std::string deep = "{\"a\":" + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  EXPECT_NE(problem(deep), "");
  EXPECT_EQ(problem("{\"a\":" + std::string(50, '[') + std::string(50, ']') + "}"), "");
  std::string wide = "{\"k\":0";
  for (int i = 0; i < 50; ++i) wide += ",\"k" + std::to_string(i) + "\":0";
  EXPECT_EQ(problem(wide + "}"), "");
  EXPECT_NE(problem(wide + "}", {.members = 10}), "");
  EXPECT_NE(problem("{\"a\":[1,2,3,4,5,6]}", {.values = 5}), "");
}

TEST(JsonBody, TextIsOneLineOfUtf8) {
  EXPECT_EQ(to_text(Json{{"a", "\xff\n"}}), "{\"a\":\"\xEF\xBF\xBD\\n\"}");
}

}  // namespace
}  // namespace oxbow::server
