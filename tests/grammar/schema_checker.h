#pragma once
// A checker of JSON schemas, and values that schemas accept, written apart from the grammars: tests compare.

#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <regex>
#include <string>

namespace oxbow::grammar::testing {

using Json = nlohmann::ordered_json;

inline size_t characters(const std::string& text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

inline bool is_of_type(const Json& type, const Json& value) {
  if (type.is_array()) {
    for (const Json& one : type) {
      if (is_of_type(one, value)) return true;
    }
    return false;
  }
  const std::string name = type;
  return (name == "string" && value.is_string()) || (name == "null" && value.is_null()) ||
         (name == "boolean" && value.is_boolean()) || (name == "array" && value.is_array()) ||
         (name == "object" && value.is_object()) || (name == "number" && value.is_number()) ||
         (name == "integer" && value.is_number_integer());
}

// Empty when the value is valid. Knows what random_schema() of the tests makes.
inline std::string why_invalid(const Json& schema, const Json& value) {
  if (schema.is_boolean()) return schema.get<bool>() ? "" : "nothing is allowed";
  if (schema.contains("type") && !is_of_type(schema["type"], value)) return "type of " + value.dump();
  if (schema.contains("enum")) {
    bool found = false;
    for (const Json& one : schema["enum"]) found = found || one == value;
    if (!found) return "not listed: " + value.dump();
  }
  if (schema.contains("anyOf")) {
    std::string reasons;
    for (const Json& one : schema["anyOf"]) {
      const std::string reason = why_invalid(one, value);
      if (reason.empty()) return "";
      reasons += reason + "; ";
    }
    return reasons;
  }
  if (value.is_string()) {
    const std::string text = value;
    if (schema.contains("minLength") && characters(text) < schema["minLength"]) return "too short";
    if (schema.contains("maxLength") && characters(text) > schema["maxLength"]) return "too long";
    if (schema.contains("pattern") &&
        !std::regex_search(text, std::regex(schema["pattern"].get<std::string>())))
      return "pattern";
  }
  if (value.is_number() && schema.contains("minimum") && value < schema["minimum"]) return "too small";
  if (value.is_array()) {
    if (schema.contains("minItems") && value.size() < schema["minItems"]) return "too few items";
    if (schema.contains("maxItems") && value.size() > schema["maxItems"]) return "too many items";
    const size_t prefix = schema.contains("prefixItems") ? schema["prefixItems"].size() : 0;
    for (size_t i = 0; i < value.size(); ++i) {
      const Json& item = i < prefix                 ? schema["prefixItems"][i]
                         : schema.contains("items") ? schema["items"]
                                                    : Json(true);
      const std::string reason = why_invalid(item, value[i]);
      if (!reason.empty()) return reason;
    }
  }
  if (value.is_object()) {
    if (schema.contains("required")) {
      for (const Json& name : schema["required"]) {
        if (!value.contains(name.get<std::string>())) return "misses " + name.dump();
      }
    }
    for (const auto& [name, member] : value.items()) {
      Json rule = true;
      if (schema.contains("additionalProperties")) rule = schema["additionalProperties"];
      if (schema.contains("properties") && schema["properties"].contains(name))
        rule = schema["properties"][name];
      const std::string reason = why_invalid(rule, member);
      if (!reason.empty()) return name + ": " + reason;
    }
  }
  return "";
}

// A value, members in the schema's order; nothing where the draw found none.
inline std::optional<Json> random_value(const Json& schema, std::mt19937& random) {
  if (schema.contains("enum")) return schema["enum"][random() % schema["enum"].size()];
  if (schema.contains("anyOf")) return random_value(schema["anyOf"][random() % 2], random);
  Json type = schema["type"];
  if (type.is_array()) type = type[random() % type.size()];
  if (type == "null") return Json(nullptr);
  if (type == "boolean") return Json(random() % 2 == 0);
  if (type == "number") return Json((static_cast<int>(random() % 20000) - 10000) / 8.0);
  if (type == "integer")
    return Json((schema.contains("minimum") ? schema["minimum"].get<int>() : -50) +
                static_cast<int>(random() % 5000));
  if (type == "string") {
    if (schema.contains("pattern")) return Json(schema["pattern"] == "x+" ? "a\"xx\n" : "abcd");
    static const char* const kPieces[] = {"a", "é", "\n", "\"", "\\", "你", "😀", " "};
    const size_t low = schema.value("minLength", 0u), high = schema.value("maxLength", 20u);
    std::string text;
    for (size_t left = low + random() % (high - low + 1); left > 0; --left) text += kPieces[random() % 8];
    return Json(text);
  }
  if (type == "array") {
    Json array = Json::array();
    const size_t low = schema["minItems"], high = schema.value("maxItems", low + 3);
    const size_t count = low + random() % (std::min<size_t>(high - low, 4) + 1);
    const size_t prefix = schema.contains("prefixItems") ? schema["prefixItems"].size() : 0;
    for (size_t i = 0; i < count; ++i) {
      auto item = random_value(i < prefix ? schema["prefixItems"][i] : schema["items"], random);
      if (!item) return std::nullopt;
      array.push_back(*item);
    }
    return array;
  }
  Json object = Json::object();
  for (const auto& [name, member] : schema["properties"].items()) {
    bool needed = random() % 2 == 0;
    for (const Json& one : schema["required"]) needed = needed || one == name;
    if (!needed) continue;
    auto value = random_value(member, random);
    if (!value) return std::nullopt;
    object[name] = *value;
  }
  if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object() &&
      random() % 2 == 0) {
    auto value = random_value(schema["additionalProperties"], random);
    if (value) object["zz other"] = *value;
  }
  return object;
}

}  // namespace oxbow::grammar::testing
