#include "grammar/schema_merge.h"

#include <algorithm>
#include <cmath>

namespace oxbow::grammar {

namespace {

std::vector<std::string> types_of(const Json& schema) {
  std::vector<std::string> types;
  const auto found = schema.find("type");
  if (found == schema.end()) return types;
  if (found->is_string()) types.push_back(found->get<std::string>());
  if (found->is_array()) {
    for (const Json& type : *found) {
      if (type.is_string()) types.push_back(type.get<std::string>());
    }
  }
  return types;
}

// Every integer is a number.
bool type_covers(std::string_view wide, std::string_view narrow) {
  return wide == narrow || (wide == "number" && narrow == "integer");
}

Json common_types(const Json& a, const Json& b) {
  Json both = Json::array();
  for (const std::string& x : types_of(a)) {
    for (const std::string& y : types_of(b)) {
      if (type_covers(y, x))
        both.push_back(x);
      else if (type_covers(x, y))
        both.push_back(y);
    }
  }
  return both;
}

const Json* member(const Json& schema, const char* key) {
  const auto found = schema.find(key);
  return found != schema.end() ? &*found : nullptr;
}

class Merger {
 public:
  Merger(const ResolveSchema& resolve, size_t& work) : resolve_(resolve), work_(work) {}

  Result<Json> merge(const Json& a, const Json& b, int depth) {
    if (work_ == 0 || depth > 64) return fail(ErrorKind::kOutOfBudget, "too many schemas to merge");
    --work_;
    if (a.is_boolean()) return a.get<bool>() ? b : a;
    if (b.is_boolean()) return b.get<bool>() ? a : b;
    if (!a.is_object() || !b.is_object()) return fail(ErrorKind::kInvalidInput, "not a schema");
    if (a.empty()) return b;
    if (b.empty()) return a;
    if (const Json* reference = member(b, "$ref")) return merge_reference(b, *reference, a, depth, false);
    if (const Json* reference = member(a, "$ref")) return merge_reference(a, *reference, b, depth, true);
    Json out = a;
    for (const auto& [key, value] : b.items()) OXBOW_TRY(add(out, a, b, key, value, depth));
    if (a.contains("properties") || b.contains("properties")) OXBOW_TRY(merge_properties(out, a, b, depth));
    return out;
  }

 private:
  Result<Json> merge_reference(const Json& owner, const Json& reference, const Json& other, int depth,
                               bool owner_first) {
    if (!reference.is_string()) return fail(ErrorKind::kInvalidInput, "$ref is not a string");
    OXBOW_ASSIGN(const Json target, resolve_(reference.get<std::string>()));
    Json rest = owner;
    rest.erase("$ref");
    OXBOW_ASSIGN(const Json whole, merge(target, rest, depth + 1));
    return owner_first ? merge(whole, other, depth + 1) : merge(other, whole, depth + 1);
  }

  Status add(Json& out, const Json& a, const Json& b, const std::string& key, const Json& value, int depth) {
    const Json* known = member(a, key.c_str());
    if (key == "properties" || key == "additionalProperties") {
      if (key == "additionalProperties") {
        const Json open = true;
        OXBOW_ASSIGN(out[key], merge(known != nullptr ? *known : open, value, depth + 1));
      }
      return {};
    }
    if (known == nullptr) {
      out[key] = value;
      return {};
    }
    if (*known == value) return {};
    if (key == "type") {
      out[key] = common_types(a, b);
    } else if (key == "required" && known->is_array() && value.is_array()) {
      for (const Json& name : value) {
        if (std::ranges::find(*known, name) == known->end()) out[key].push_back(name);
      }
    } else if (key == "minimum" || key == "exclusiveMinimum" || key == "minLength" || key == "minItems") {
      OXBOW_TRY(check_numbers(key, *known, value));
      if (value > *known) out[key] = value;
    } else if (key == "maximum" || key == "exclusiveMaximum" || key == "maxLength" || key == "maxItems") {
      OXBOW_TRY(check_numbers(key, *known, value));
      if (value < *known) out[key] = value;
    } else if (key == "enum" && known->is_array() && value.is_array()) {
      Json both = Json::array();
      for (const Json& choice : *known) {
        if (std::ranges::find(value, choice) != value.end()) both.push_back(choice);
      }
      out[key] = both;
    } else if (key == "const") {
      out["enum"] = Json::array();
    } else if (key == "items") {
      OXBOW_ASSIGN(out[key], merge(*known, value, depth + 1));
    } else if (key == "allOf" && known->is_array() && value.is_array()) {
      for (const Json& part : value) out[key].push_back(part);
    } else if (key == "anyOf" || key == "oneOf") {
      // Both must hold: the second list goes on as a part of its own.
      out["allOf"].push_back(Json{{key, value}});
    } else if (key == "pattern" || key == "format" || key == "prefixItems" || key == "multipleOf") {
      return fail(ErrorKind::kUnsupported, "two different values of '{}' that must hold at once", key);
    }
    return {};
  }

  static Status check_numbers(const std::string& key, const Json& a, const Json& b) {
    if (!a.is_number() || !b.is_number()) return fail(ErrorKind::kInvalidInput, "'{}' is not a number", key);
    return {};
  }

  // A property that only one of them names must be what the other accepts of unnamed ones.
  Status merge_properties(Json& out, const Json& a, const Json& b, int depth) {
    static const Json none = Json::object();
    const Json& first = a.contains("properties") ? a["properties"] : none;
    const Json& second = b.contains("properties") ? b["properties"] : none;
    if (!first.is_object() || !second.is_object())
      return fail(ErrorKind::kInvalidInput, "'properties' is not an object");
    const auto others = [](const Json& schema) {
      const Json* given = member(schema, "additionalProperties");
      return given != nullptr ? *given : Json(true);
    };
    Json merged = Json::object();
    for (const auto& [name, schema] : first.items()) {
      const auto found = second.find(name);
      OXBOW_ASSIGN(merged[name], merge(schema, found != second.end() ? *found : others(b), depth + 1));
    }
    for (const auto& [name, schema] : second.items()) {
      if (first.contains(name)) continue;
      OXBOW_ASSIGN(merged[name], merge(others(a), schema, depth + 1));
    }
    out["properties"] = std::move(merged);
    return {};
  }

  const ResolveSchema& resolve_;
  size_t& work_;
};

// The values of enum or const; null when the schema does not list its values.
Json listed_values(const Json& schema) {
  if (const Json* one = member(schema, "const")) return Json::array({*one});
  if (const Json* list = member(schema, "enum"); list != nullptr && list->is_array()) return *list;
  return {};
}

bool is_required(const Json& schema, const std::string& name) {
  const Json* required = member(schema, "required");
  return required != nullptr && required->is_array() &&
         std::ranges::find(*required, Json(name)) != required->end();
}

bool objects_are_disjoint(const Json& a, const Json& b, const ResolveSchema& resolve, int depth) {
  const auto missing = [](const Json& owner, const Json& other) {
    const Json* required = member(owner, "required");
    const Json* closed = member(other, "additionalProperties");
    if (required == nullptr || !required->is_array()) return false;
    // Without additionalProperties beside properties, the grammar writes named members alone.
    if (closed == nullptr ? !other.contains("properties") : *closed != Json(false)) return false;
    if (closed == nullptr) return false;
    return std::ranges::any_of(*required, [&](const Json& name) {
      return name.is_string() &&
             !(other.contains("properties") && other["properties"].contains(name.get<std::string>()));
    });
  };
  if (missing(a, b) || missing(b, a)) return true;
  const Json* first = member(a, "properties");
  const Json* second = member(b, "properties");
  if (first == nullptr || second == nullptr || !first->is_object() || !second->is_object()) return false;
  for (const auto& [name, schema] : first->items()) {
    const auto other = second->find(name);
    if (other == second->end() || !is_required(a, name) || !is_required(b, name)) continue;
    if (are_disjoint(schema, *other, resolve, depth + 1)) return true;
  }
  return false;
}

}  // namespace

bool has_type(const Json& value, std::string_view type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  if (type == "number") return value.is_number();
  if (type == "integer")
    return value.is_number_integer() ||
           (value.is_number_float() && value.get<double>() == std::nearbyint(value.get<double>()));
  return false;
}

Result<Json> merge_schemas(const Json& a, const Json& b, const ResolveSchema& resolve, size_t& work) {
  return Merger(resolve, work).merge(a, b, 0);
}

bool are_disjoint(const Json& a, const Json& b, const ResolveSchema& resolve, int depth) {
  if (depth > 8) return false;
  if (a.is_boolean()) return !a.get<bool>();
  if (b.is_boolean()) return !b.get<bool>();
  if (!a.is_object() || !b.is_object()) return false;
  for (const auto* side : {&a, &b}) {
    const Json* reference = member(*side, "$ref");
    if (reference == nullptr || !reference->is_string()) continue;
    const auto target = resolve(reference->get<std::string>());
    if (!target) return false;
    return side == &a ? are_disjoint(*target, b, resolve, depth + 1)
                      : are_disjoint(a, *target, resolve, depth + 1);
  }
  const Json first = listed_values(a), second = listed_values(b);
  const auto first_types = types_of(a), second_types = types_of(b);
  if (first.is_array() && second.is_array())
    return std::ranges::none_of(
        first, [&](const Json& value) { return std::ranges::find(second, value) != second.end(); });
  const auto list_without = [](const Json& list, const std::vector<std::string>& types) {
    return list.is_array() && !types.empty() && std::ranges::none_of(list, [&](const Json& value) {
             return std::ranges::any_of(types,
                                        [&](const std::string& type) { return has_type(value, type); });
           });
  };
  if (list_without(first, second_types) || list_without(second, first_types)) return true;
  if (first_types.empty() || second_types.empty()) return false;
  const Json both = common_types(a, b);
  if (both.empty()) return true;
  return both == Json::array({"object"}) && objects_are_disjoint(a, b, resolve, depth);
}

}  // namespace oxbow::grammar
