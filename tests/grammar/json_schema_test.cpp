#include <gtest/gtest.h>

#include "grammar/grammar_support.h"
#include "grammar/schema_checker.h"

namespace oxbow::grammar {
namespace {

using namespace testing;

Json parse(const char* text) {
  return Json::parse(text);
}

TEST(JsonSchema, WritesMembersInOrderAndLeavesOutOptionalOnes) {
  const auto grammar =
      schema(parse(R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},
    "c":{"type":"boolean"}},"required":["b"],"additionalProperties":false})"));
  EXPECT_TRUE(matches(grammar, R"({"a": 1, "b": "x", "c": true})"));
  EXPECT_TRUE(matches(grammar, R"({"b":"x"})"));
  EXPECT_TRUE(matches(grammar, "{\n  \"b\": \"x\",\n  \"c\": false\n}"));
  EXPECT_FALSE(matches(grammar, R"({"b":"x","a":1})"));
  EXPECT_FALSE(matches(grammar, R"({"a":1})"));
  EXPECT_FALSE(matches(grammar, R"({"b":"x","d":1})"));
  EXPECT_FALSE(matches(grammar, R"({"b":"x",})"));
}

TEST(JsonSchema, UnnamedMembersNeverRepeatNamedOnes) {
  const auto grammar =
      schema(parse(R"({"type":"object","properties":{"ab":{"type":"integer"},"a":{"type":"null"}},
    "additionalProperties":{"type":"string"}})"));
  EXPECT_TRUE(matches(grammar, R"({"ab":1,"abc":"x","":"y","b":"z"})"));
  EXPECT_FALSE(matches(grammar, R"({"ab":"x"})"));
  EXPECT_FALSE(matches(grammar, R"({"a":"x"})"));
  EXPECT_FALSE(matches(grammar, R"({"abc":1})"));
}

TEST(JsonSchema, FollowsReferences) {
  const auto grammar = schema(parse(R"({"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},
    "next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"]}},"$ref":"#/$defs/node"})"));
  EXPECT_TRUE(matches(grammar, R"({"v":1,"next":{"v":2,"next":null}})"));
  EXPECT_FALSE(matches(grammar, R"({"v":1,"next":{"v":2}})"));
  EXPECT_NE(schema_error(parse(R"({"$ref":"#/nowhere"})")).find("#/nowhere"), std::string::npos);
  EXPECT_NE(schema_error(parse(R"({"$ref":"http://x/y"})")), "");
  EXPECT_NE(schema_error(parse(R"({"$ref":"#"})")), "");
  EXPECT_NE(schema_error(parse(R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})")), "");
}

TEST(JsonSchema, NamesUnsupportedKeywordsAndTheirPlaces) {
  EXPECT_EQ(schema_error(parse(R"({"properties":{"a/b":{"type":"array","uniqueItems":true}}})")),
            "schema at '/properties/a~1b/uniqueItems': the keyword 'uniqueItems' is not supported");
  for (const char* keyword : {"not", "if", "then", "contains", "patternProperties", "dependentRequired",
                              "propertyNames", "multipleOf", "minProperties", "unevaluatedProperties"}) {
    EXPECT_NE(schema_error(Json{{keyword, 1}}).find(keyword), std::string::npos);
  }
  EXPECT_EQ(schema_error(parse(R"({"type":"string","title":"t","description":"d","default":1,"examples":[1],
    "$schema":"http://json-schema.org/draft-07/schema#","x-order":1})")),
            "");
  EXPECT_NE(schema_error(parse(R"({"oneOf":[{"type":"integer"},{"type":"number"}]})")).find("oneOf"),
            std::string::npos);
  EXPECT_NE(schema_error(parse(R"({"type":"string","format":"iri"})")).find("iri"), std::string::npos);
  EXPECT_NE(schema_error({{"type", "string"}, {"pattern", "(?=a)"}}).find("look-around"), std::string::npos);
  EXPECT_NE(schema_error(parse(R"({"type":"strin"})")), "");
  EXPECT_NE(schema_error(parse(R"({"type":"integer","minimum":5,"maximum":3})")), "");
}

TEST(JsonSchema, KeepsStringsToPatternsAndFormats) {
  const auto pattern = schema(parse(R"({"type":"string","pattern":"^[A-Z]{2}-\\d+(\\.\\w*)?$|\"q\\\\"})"));
  EXPECT_TRUE(matches(pattern, R"("AB-12")"));
  EXPECT_TRUE(matches(pattern, R"("AB-1.x_")"));
  EXPECT_TRUE(matches(pattern, R"("before \"q\\ after")"));
  EXPECT_FALSE(matches(pattern, R"("ABC-12")"));
  EXPECT_FALSE(matches(pattern, R"("AB-12 ")"));
  const auto time = schema(parse(R"({"type":"string","format":"date-time"})"));
  EXPECT_TRUE(matches(time, R"("2024-02-28T23:59:59.123+01:00")"));
  EXPECT_FALSE(matches(time, R"("2024-02-31T23:59:59Z")"));
  const auto length = schema(parse(R"({"type":"string","minLength":2,"maxLength":100})"));
  EXPECT_TRUE(matches(length, R"("é\n")"));
  EXPECT_TRUE(matches(length, "\"" + std::string(100, 'x') + "\""));
  EXPECT_FALSE(matches(length, "\"" + std::string(101, 'x') + "\""));
  EXPECT_FALSE(matches(length, R"("\ud83d\ude00")"));  // one character
}

TEST(JsonSchema, KeepsNumbersWithinBounds) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const auto draw = [&] {
      const int64_t scale[] = {10, 100, 1000, 100000};
      return static_cast<int64_t>(random() % (2 * scale[round % 4])) - scale[round % 4];
    };
    int64_t low = draw(), high = draw();
    if (low > high) std::swap(low, high);
    const bool real = round % 3 == 0;
    const double unit = real ? 0.125 : 1;
    const bool exclusive = real && round % 2 == 0 && low < high;
    Json bounds = {{"type", real ? "number" : "integer"}};
    bounds[exclusive ? "exclusiveMinimum" : "minimum"] = real ? Json(low * unit) : Json(low);
    bounds[exclusive ? "exclusiveMaximum" : "maximum"] = real ? Json(high * unit) : Json(high);
    const auto grammar = schema(bounds);
    ASSERT_TRUE(grammar);
    for (int probe = 0; probe < 60; ++probe) {
      int64_t value = probe < 8 ? (probe % 2 ? low : high) + probe / 2 - 2 : draw();
      const double number = value * unit;
      const bool inside = exclusive ? value > low && value < high : value >= low && value <= high;
      const std::string text = Json(real ? Json(number) : Json(value)).dump();
      if (text == "-0.0") continue;
      EXPECT_EQ(matches(grammar, text), inside) << bounds.dump() << " " << text;
    }
    for (int i = 0; i < 4; ++i) {
      const std::string text = random_text(grammar, random, 6);
      ASSERT_FALSE(text.empty());
      const double value = std::stod(text);
      EXPECT_TRUE(value >= low * unit && value <= high * unit) << bounds.dump() << " " << text;
      EXPECT_TRUE(!exclusive || (value != low * unit && value != high * unit))
          << bounds.dump() << " " << text;
    }
  }
}

TEST(JsonSchema, MergesAllOf) {
  const auto grammar =
      schema(parse(R"({"allOf":[{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]},
    {"properties":{"a":{"type":"integer","minimum":3},"b":{"const":"x"}},"required":["b"]}],"$defs":{}})"));
  EXPECT_TRUE(matches(grammar, R"({"a":3,"b":"x"})"));
  EXPECT_FALSE(matches(grammar, R"({"a":2,"b":"x"})"));
  EXPECT_FALSE(matches(grammar, R"({"a":3.5,"b":"x"})"));
  EXPECT_FALSE(matches(grammar, R"({"a":3})"));
}

TEST(JsonSchema, AnyObjectIsAnObject) {
  const auto grammar = *Grammar::any_json_object(model().vocabulary);
  EXPECT_TRUE(matches(grammar, R"({"a":[1,2.5e3,{"b":null}],"c":"\u00e9\ud83d\ude00"})"));
  EXPECT_FALSE(matches(grammar, "[1]"));
  EXPECT_FALSE(matches(grammar, R"({"a":"\ud83d"})"));
  EXPECT_FALSE(matches(grammar, R"({"a":01})"));
  std::mt19937 random(4);
  for (int i = 0; i < 100; ++i) {
    const std::string text = random_text(grammar, random, 30);
    EXPECT_TRUE(Json::parse(text, nullptr, false).is_object()) << text;
  }
}

TEST(JsonSchema, ManyOptionalPropertiesAndChoicesStaySmall) {
  Json properties = Json::object(), values = Json::array();
  for (int i = 0; i < 300; ++i) properties["property" + std::to_string(i)] = {{"type", "integer"}};
  for (int i = 0; i < 2000; ++i) values.push_back("value" + std::to_string(i));
  properties["choice"] = {{"enum", values}};
  const auto grammar = schema({{"type", "object"}, {"properties", properties}});
  EXPECT_TRUE(matches(grammar, R"({"property3":1,"property299":2,"choice":"value1999"})"));
  EXPECT_FALSE(matches(grammar, R"({"choice":"value2000"})"));
}

Json random_schema(std::mt19937& random, int depth) {
  const auto coin = [&](unsigned sides) { return random() % sides == 0; };
  switch (random() % (depth > 0 ? 12 : 7)) {
    case 0:
      return {{"type", "string"}};
    case 1: {
      const unsigned low = random() % 4;
      return {{"type", "string"}, {"minLength", low}, {"maxLength", low + random() % 100}};
    }
    case 2:
      return {{"type", "integer"}, {"minimum", static_cast<int>(random() % 300) - 150}};
    case 3:
      return {{"enum", {"a", 1, nullptr, "name", Json{{"x", {1, 2}}}}}};
    case 4:
      return coin(2) ? Json{{"type", "number"}} : Json{{"type", "boolean"}};
    case 5:
      return {{"type", {"string", "null", "integer"}}};
    case 6:
      return {{"type", "string"}, {"pattern", coin(2) ? "^a[b-d]{1,3}$" : "x+"}};
    case 7:
    case 8: {
      const unsigned low = random() % 3;
      Json array = {{"type", "array"}, {"items", random_schema(random, depth - 1)}, {"minItems", low}};
      if (coin(2)) array["maxItems"] = low + random() % 40;
      if (coin(3)) array["prefixItems"] = {random_schema(random, depth - 1), random_schema(random, 0)};
      return array;
    }
    case 9:
      return {{"anyOf", {random_schema(random, depth - 1), random_schema(random, depth - 1)}}};
    default: {
      Json object = {{"type", "object"}, {"properties", Json::object()}};
      Json required = Json::array();
      for (const char* name : {"a", "ab", "name", "q\"uote", "é"}) {
        if (coin(3)) continue;
        object["properties"][name] = random_schema(random, depth - 1);
        if (coin(2)) required.push_back(name);
      }
      object["required"] = required;
      if (coin(2)) object["additionalProperties"] = coin(2) ? Json(false) : random_schema(random, depth - 1);
      return object;
    }
  }
}

TEST(JsonSchema, WhatMasksLeadToIsValid) {
  std::mt19937 random(1234);
  for (int round = 0; round < 250; ++round) {
    const Json json = random_schema(random, 3);
    const auto grammar = schema(json);
    ASSERT_TRUE(grammar);
    for (int i = 0; i < 4; ++i) {
      const std::string text = random_text(grammar, random, 5 + random() % 40);
      const Json value = Json::parse(text, nullptr, false);
      ASSERT_FALSE(value.is_discarded()) << json.dump() << "\n" << text;
      EXPECT_EQ(why_invalid(json, value), "") << json.dump() << "\n" << text;
    }
  }
}

TEST(JsonSchema, ValidTextsAreAccepted) {
  std::mt19937 random(77);
  int tried = 0;
  for (int round = 0; round < 400; ++round) {
    const Json json = random_schema(random, 3);
    const auto value = random_value(json, random);
    if (!value) continue;
    ASSERT_EQ(why_invalid(json, *value), "") << json.dump() << value->dump();
    const auto grammar = schema(json);
    ASSERT_TRUE(grammar);
    ++tried;
    EXPECT_TRUE(matches(grammar, value->dump())) << json.dump() << "\n" << value->dump();
  }
  EXPECT_GT(tried, 100);
}

}  // namespace
}  // namespace oxbow::grammar
