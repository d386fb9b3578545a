#include "grammar/json_schema.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "grammar/json_strings.h"
#include "grammar/number_range.h"
#include "grammar/schema_merge.h"

namespace oxbow::grammar {

namespace {

constexpr uint32_t kMaxCount = 1'000'000;  // minItems, maxLength, ...
constexpr size_t kMaxPrefixItems = 256;
constexpr size_t kMaxProperties = 2000;
constexpr size_t kMaxMerges = 10'000;

constexpr std::string_view kAnnotations[] = {
    "$schema", "$id",      "$comment", "$defs",      "definitions", "title",     "description",
    "default", "examples", "example",  "deprecated", "readOnly",    "writeOnly", "$anchor"};
constexpr std::string_view kSupported[] = {"type",
                                           "properties",
                                           "required",
                                           "additionalProperties",
                                           "items",
                                           "prefixItems",
                                           "minItems",
                                           "maxItems",
                                           "enum",
                                           "const",
                                           "anyOf",
                                           "oneOf",
                                           "allOf",
                                           "$ref",
                                           "minLength",
                                           "maxLength",
                                           "pattern",
                                           "format",
                                           "minimum",
                                           "maximum",
                                           "exclusiveMinimum",
                                           "exclusiveMaximum"};

template <typename List>
bool contains(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

class SchemaCompiler {
 public:
  SchemaCompiler(Expressions& expressions, JsonTexts& json, const Json& root, std::string place,
                 const SchemaLimits& limits)
      : e_(expressions), json_(json), root_(root), place_(std::move(place)), limits_(limits) {
    resolve_ = [this](const std::string& reference) { return resolve(reference); };
  }

  Result<ExpressionId> run() {
    OXBOW_ASSIGN(const ExpressionId whole, compile(root_, place_, 0));
    while (!pending_.empty()) {
      const auto [reference, rule] = pending_.back();
      pending_.pop_back();
      OXBOW_ASSIGN(const Json schema, resolve(reference));
      OXBOW_ASSIGN(const ExpressionId body, compile(schema, place_ + reference.substr(1), 0));
      e_.define(rule, body);
    }
    return whole;
  }

 private:
  template <typename... Args>
  tl::unexpected<Error> invalid(const std::string& at, fmt::format_string<Args...> format,
                                Args&&... args) const {
    return fail(ErrorKind::kInvalidInput, "schema at '{}': {}", at,
                fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  tl::unexpected<Error> unsupported(const std::string& at, fmt::format_string<Args...> format,
                                    Args&&... args) const {
    return fail(ErrorKind::kUnsupported, "schema at '{}': {}", at,
                fmt::format(format, std::forward<Args>(args)...));
  }
  static tl::unexpected<Error> placed(const std::string& at, const Error& error) {
    return tl::unexpected<Error>(Error{error.kind, fmt::format("schema at '{}': {}", at, error.message)});
  }

  Result<Json> resolve(const std::string& reference) const {
    if (reference.empty() || reference[0] != '#' || (reference.size() > 1 && reference[1] != '/'))
      return fail(ErrorKind::kUnsupported,
                  "$ref '{}': only references into the schema itself (#/...) are supported", reference);
    const Json* at = &root_;
    for (size_t begin = 1; begin < reference.size();) {
      const size_t end = std::min(reference.find('/', begin + 1), reference.size());
      std::string name;
      for (size_t i = begin + 1; i < end; ++i) {
        const bool is_escape = reference[i] == '~' && i + 1 < end;
        if (is_escape && (reference[i + 1] == '0' || reference[i + 1] == '1')) {
          name += reference[++i] == '0' ? '~' : '/';
        } else {
          name += reference[i];
        }
      }
      const Json* next = nullptr;
      if (at->is_object()) {
        if (const auto found = at->find(name); found != at->end()) next = &*found;
      } else if (at->is_array() && !name.empty() && name.size() < 6 &&
                 name.find_first_not_of("0123456789") == std::string::npos) {
        const size_t index = std::stoul(name);
        if (index < at->size()) next = &(*at)[index];
      }
      if (next == nullptr) return fail(ErrorKind::kInvalidInput, "$ref '{}' leads nowhere", reference);
      at = next;
      begin = end;
    }
    return *at;
  }

  Result<ExpressionId> compile(const Json& schema, const std::string& at, size_t nesting) {
    if (nesting > limits_.nesting)
      return fail(ErrorKind::kOutOfBudget, "schema at '{}': nested more than {} deep", at, limits_.nesting);
    if (++schemas_ > limits_.schemas || e_.size() > limits_.expressions)
      return fail(ErrorKind::kOutOfBudget, "schema at '{}': the schema is too large", at);
    if (schema.is_boolean()) return schema.get<bool>() ? json_.value() : e_.nothing();
    if (!schema.is_object()) return invalid(at, "expected an object, true or false");
    OXBOW_TRY(check_keywords(schema, at));
    if (schema.contains("$ref")) return compile_reference(schema, at, nesting);
    for (const char* key : {"allOf", "anyOf", "oneOf"}) {
      if (schema.contains(key)) return compile_combination(schema, key, at, nesting);
    }
    if (schema.contains("enum") || schema.contains("const")) return compile_values(schema, at);
    return compile_types(schema, at, nesting);
  }

  Status check_keywords(const Json& schema, const std::string& at) const {
    for (const auto& [key, value] : schema.items()) {
      if (contains(kSupported, key) || contains(kAnnotations, key) || key.starts_with("x-")) continue;
      if (key == "uniqueItems" && value == Json(false)) continue;
      return unsupported(at + "/" + escaped(key), "the keyword '{}' is not supported", key);
    }
    return {};
  }

  static bool has_assertions(const Json& schema, std::string_view beside) {
    return std::ranges::any_of(
        kSupported, [&](std::string_view key) { return key != beside && schema.contains(std::string(key)); });
  }

  Result<ExpressionId> compile_reference(const Json& schema, const std::string& at, size_t nesting) {
    if (!schema["$ref"].is_string()) return invalid(at + "/$ref", "expected a string");
    const std::string reference = schema["$ref"].get<std::string>();
    const auto target = resolve(reference);
    if (!target) return placed(at, target.error());
    if (has_assertions(schema, "$ref")) {
      const auto merged = merge_schemas(schema, Json::object({{"description", ""}}), resolve_, merges_);
      if (!merged) return placed(at, merged.error());
      if (merged->is_object() && merged->contains("$ref")) return invalid(at, "$ref refers to itself");
      return compile(*merged, at, nesting + 1);
    }
    const auto [known, is_new] = references_.try_emplace(reference, 0);
    if (is_new) {
      known->second = e_.add_rule(reference);
      pending_.push_back({reference, known->second});
    }
    return e_.rule(known->second);
  }

  // allOf, anyOf or oneOf, together with the keywords beside it.
  Result<ExpressionId> compile_combination(const Json& schema, const char* key, const std::string& at,
                                           size_t nesting) {
    const Json& parts = schema[key];
    const std::string place = at + "/" + key;
    if (!parts.is_array() || parts.empty()) return invalid(place, "expected an array with a schema or more");
    Json rest = schema;
    rest.erase(key);
    const bool alone = !has_assertions(rest, "");
    if (std::string_view(key) == "allOf") {
      Json merged = std::move(rest);
      for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].is_object()) OXBOW_TRY(check_keywords(parts[i], fmt::format("{}/{}", place, i)));
        auto next = merge_schemas(merged, parts[i], resolve_, merges_);
        if (!next) return placed(fmt::format("{}/{}", place, i), next.error());
        merged = std::move(*next);
      }
      return compile(merged, at, nesting + 1);
    }
    std::vector<Json> alternatives;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (alone) {
        alternatives.push_back(parts[i]);
        continue;
      }
      auto merged = merge_schemas(rest, parts[i], resolve_, merges_);
      if (!merged) return placed(fmt::format("{}/{}", place, i), merged.error());
      alternatives.push_back(std::move(*merged));
    }
    if (std::string_view(key) == "oneOf") OXBOW_TRY(check_disjoint(alternatives, place));
    std::vector<ExpressionId> ways;
    for (size_t i = 0; i < alternatives.size(); ++i) {
      OXBOW_ASSIGN(const ExpressionId way,
                   compile(alternatives[i], fmt::format("{}/{}", place, i), nesting + 1));
      ways.push_back(way);
    }
    return e_.choice(ways);
  }

  // A text that two alternatives accept would not be valid.
  Status check_disjoint(const std::vector<Json>& alternatives, const std::string& place) {
    if (alternatives.size() > 256) return unsupported(place, "'oneOf' of more than 256 schemas");
    for (size_t i = 0; i < alternatives.size(); ++i) {
      for (size_t j = i + 1; j < alternatives.size(); ++j) {
        if (!are_disjoint(alternatives[i], alternatives[j], resolve_))
          return unsupported(
              place,
              "'oneOf' whose alternatives {} and {} may accept the same value is not supported: "
              "use anyOf, or give both a required property with different constants",
              i, j);
      }
    }
    return {};
  }

  Result<std::vector<std::string>> types(const Json& schema, const std::string& at) const {
    std::vector<std::string> names;
    const auto given = schema.find("type");
    if (given == schema.end()) return names;
    const Json list = given->is_array() ? Json(*given) : Json::array({*given});
    for (const Json& type : list) {
      static constexpr std::string_view kTypes[] = {"object", "array",   "string", "integer",
                                                    "number", "boolean", "null"};
      if (!type.is_string() || !contains(kTypes, type.get<std::string>()))
        return invalid(at + "/type", "unknown type");
      names.push_back(type.get<std::string>());
    }
    return names;
  }

  Result<ExpressionId> compile_values(const Json& schema, const std::string& at) {
    OXBOW_ASSIGN(const auto allowed, types(schema, at));
    for (const char* key : {"pattern", "format", "properties", "required", "additionalProperties", "items",
                            "prefixItems", "minItems", "maxItems"}) {
      if (schema.contains(key) && allowed.empty())
        return unsupported(at + "/" + key, "'{}' beside 'enum' or 'const' is not supported", key);
      if (schema.contains(key) && (std::string_view(key) == "pattern" || std::string_view(key) == "format"))
        return unsupported(at + "/" + key, "'{}' beside 'enum' or 'const' is not supported", key);
    }
    Json values = schema.contains("enum") ? schema["enum"] : Json::array({schema["const"]});
    if (!values.is_array()) return invalid(at + "/enum", "expected an array");
    if (schema.contains("enum") && schema.contains("const")) {
      const bool listed = std::ranges::find(values, schema["const"]) != values.end();
      values = listed ? Json::array({schema["const"]}) : Json::array();
    }
    OXBOW_ASSIGN(const Range lengths, counts(schema, "minLength", "maxLength", at));
    OXBOW_ASSIGN(const auto low, bound(schema, "minimum", "exclusiveMinimum", at));
    OXBOW_ASSIGN(const auto high, bound(schema, "maximum", "exclusiveMaximum", at));
    std::vector<ExpressionId> ways;
    for (const Json& value : values) {
      if (!allowed.empty() &&
          std::ranges::none_of(allowed, [&](const auto& type) { return has_type(value, type); }))
        continue;
      if (value.is_string()) {
        const size_t characters = std::ranges::count_if(value.get_ref<const std::string&>(), [](char c) {
          return (static_cast<uint8_t>(c) & 0xC0) != 0x80;
        });
        if (characters < lengths.min || characters > lengths.max) continue;
      }
      if (value.is_number()) {
        const double number = value.get<double>();
        if (low && (number < low->value || (low->exclusive && number == low->value))) continue;
        if (high && (number > high->value || (high->exclusive && number == high->value))) continue;
      }
      ways.push_back(e_.text(value.dump(-1, ' ', false, Json::error_handler_t::replace)));
    }
    return e_.choice(ways);
  }

  // Without a type: the types that the keywords speak of, or any value.
  Result<ExpressionId> compile_types(const Json& schema, const std::string& at, size_t nesting) {
    OXBOW_ASSIGN(auto names, types(schema, at));
    if (names.empty()) {
      if (schema.contains("type")) return e_.nothing();
      const auto speaks = [&](std::initializer_list<const char*> keys, const char* type) {
        if (std::ranges::any_of(keys, [&](const char* key) { return schema.contains(key); }))
          names.emplace_back(type);
      };
      speaks({"properties", "required", "additionalProperties"}, "object");
      speaks({"items", "prefixItems", "minItems", "maxItems"}, "array");
      speaks({"minLength", "maxLength", "pattern", "format"}, "string");
      speaks({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}, "number");
      if (names.empty()) return json_.value();
    }
    const bool any_number = contains(names, "number");
    std::vector<ExpressionId> ways;
    for (const std::string& type : names) {
      if (type == "integer" && any_number) continue;
      OXBOW_ASSIGN(const ExpressionId way, compile_type(schema, type, at, nesting));
      ways.push_back(way);
    }
    return e_.choice(ways);
  }

  Result<ExpressionId> compile_type(const Json& schema, const std::string& type, const std::string& at,
                                    size_t nesting) {
    if (type == "object") return compile_object(schema, at, nesting);
    if (type == "array") return compile_array(schema, at, nesting);
    if (type == "string") return compile_string(schema, at);
    if (type == "boolean") return json_.boolean();
    if (type == "null") return json_.null();
    return compile_number(schema, type == "integer", at);
  }

  struct Range {
    uint32_t min = 0, max = kUnbounded;
  };
  Result<Range> counts(const Json& schema, const char* min, const char* max, const std::string& at) const {
    Range range;
    for (const char* key : {min, max}) {
      const auto found = schema.find(key);
      if (found == schema.end()) continue;
      const double value = found->is_number() ? found->get<double>() : -1;
      if (value < 0 || value != std::nearbyint(value))
        return invalid(at + "/" + key, "expected a whole number from 0 on");
      if (key == min && value > kMaxCount)
        return fail(ErrorKind::kOutOfBudget, "schema at '{}/{}': the limit is {}", at, key, kMaxCount);
      if (key == min)
        range.min = static_cast<uint32_t>(value);
      else if (value <= kMaxCount)
        range.max = static_cast<uint32_t>(value);
    }
    return range;
  }

  Result<ExpressionId> compile_string(const Json& schema, const std::string& at) {
    OXBOW_ASSIGN(const Range range, counts(schema, "minLength", "maxLength", at));
    const bool counted = range.min > 0 || range.max != kUnbounded;
    for (const char* key : {"pattern", "format"}) {
      const auto found = schema.find(key);
      if (found == schema.end()) continue;
      const std::string place = at + "/" + key;
      if (!found->is_string()) return invalid(place, "expected a string");
      if (counted) return unsupported(place, "'{}' beside 'minLength' or 'maxLength' is not supported", key);
      const std::string value = found->get<std::string>();
      if (std::string_view(key) == "pattern") {
        if (schema.contains("format"))
          return unsupported(place, "'pattern' beside 'format' is not supported");
        const auto pattern = string_with_pattern(e_, value);
        if (!pattern) return placed(place, pattern.error());
        return *pattern;
      }
      const auto format = string_with_format(e_, value);
      if (!format) return unsupported(place, "the format '{}' is not supported", value);
      return *format;
    }
    if (range.min > range.max) return e_.nothing();
    return counted ? json_.string(range.min, range.max) : json_.string();
  }

  struct Bound {
    double value;
    bool exclusive;
  };
  // The tighter of an inclusive and an exclusive bound. Draft 4's `exclusiveMinimum: true` is refused.
  Result<std::optional<Bound>> bound(const Json& schema, const char* inclusive, const char* exclusive,
                                     const std::string& at) const {
    std::optional<Bound> result;
    const bool is_min = std::string_view(inclusive) == "minimum";
    for (const char* key : {inclusive, exclusive}) {
      const auto found = schema.find(key);
      if (found == schema.end()) continue;
      if (!found->is_number()) return invalid(at + "/" + key, "expected a number");
      const Bound next{found->get<double>(), key == exclusive};
      const bool tighter = !result || (is_min ? next.value >= result->value : next.value <= result->value);
      if (tighter) result = next;
    }
    return result;
  }

  Result<ExpressionId> compile_number(const Json& schema, bool is_integer, const std::string& at) {
    OXBOW_ASSIGN(const auto low, bound(schema, "minimum", "exclusiveMinimum", at));
    OXBOW_ASSIGN(const auto high, bound(schema, "maximum", "exclusiveMaximum", at));
    if (!low && !high) return is_integer ? json_.integer() : json_.number();
    if (is_integer) {
      constexpr double kLimit = 1e18;
      std::optional<int64_t> min, max;
      if (low) {
        const double least = low->exclusive ? std::floor(low->value) + 1 : std::ceil(low->value);
        if (least > kLimit) return e_.nothing();
        if (least >= -kLimit) min = static_cast<int64_t>(least);
      }
      if (high) {
        const double most = high->exclusive ? std::ceil(high->value) - 1 : std::floor(high->value);
        if (most < -kLimit) return e_.nothing();
        if (most <= kLimit) max = static_cast<int64_t>(most);
      }
      return integer_range(e_, min, max);
    }
    std::optional<NumberBound> min, max;
    for (const auto& [from, to, key] :
         {std::tuple(&low, &min, "minimum"), std::tuple(&high, &max, "maximum")}) {
      if (!*from) continue;
      const auto decimal = to_decimal((*from)->value);
      if (!decimal)
        return unsupported(at + "/" + key,
                           "numbers need bounds of at most 16 digits before and after the point");
      *to = NumberBound{*decimal, (*from)->exclusive};
    }
    if (low && high && low->value > high->value) return e_.nothing();
    return number_range(e_, min, max);
  }

  Result<ExpressionId> compile_array(const Json& schema, const std::string& at, size_t nesting) {
    OXBOW_ASSIGN(const Range range, counts(schema, "minItems", "maxItems", at));
    Json prefix = Json::array(), items;
    std::string prefix_place = at + "/prefixItems";
    const auto given = schema.find("items");
    if (schema.contains("prefixItems")) {
      prefix = schema["prefixItems"];
    } else if (given != schema.end() && given->is_array()) {  // drafts before 2020-12
      prefix = *given;
      prefix_place = at + "/items";
    }
    if (!prefix.is_array()) return invalid(prefix_place, "expected an array");
    if (prefix.size() > kMaxPrefixItems)
      return fail(ErrorKind::kOutOfBudget, "schema at '{}': the limit is {} items", prefix_place,
                  kMaxPrefixItems);
    const bool has_items = given != schema.end() && !given->is_array();
    ExpressionId item = json_.value();
    if (has_items) {
      OXBOW_ASSIGN(item, compile(*given, at + "/items", nesting + 1));
    }
    if (range.min > range.max) return e_.nothing();
    if (prefix.empty()) return json_.list("[", item, "]", range.min, range.max);

    const auto count = static_cast<uint32_t>(std::min<size_t>(prefix.size(), range.max));
    // Behind the prefix, any value may follow; the grammar writes one only where the schema asks for it.
    const bool more = range.max > count && (has_items || range.min > count);
    const ExpressionId comma = e_.sequence({e_.text(","), json_.blanks()});
    ExpressionId tail = e_.empty();
    if (more) {
      const uint32_t least = range.min > count ? range.min - count : 0;
      const uint32_t most = has_items ? (range.max == kUnbounded ? kUnbounded : range.max - count) : least;
      tail = e_.repeat(e_.sequence({comma, item}), least, most);
    }
    for (uint32_t i = count; i-- > 0;) {
      OXBOW_ASSIGN(const ExpressionId element,
                   compile(prefix[i], fmt::format("{}/{}", prefix_place, i), nesting + 1));
      tail = e_.sequence({i == 0 ? json_.blanks() : comma, element, tail});
      if (i >= range.min) tail = e_.optional(tail);
      if (i % 16 == 15) tail = e_.named(fmt::format("{}/{}", prefix_place, i), tail);
    }
    return e_.sequence({e_.text("["), tail, json_.blanks(), e_.text("]")});
  }

  // Members in the schema's order: a chain of rules, one per property, so that optional ones cost nothing.
  Result<ExpressionId> compile_object(const Json& schema, const std::string& at, size_t nesting) {
    static const Json none = Json::object();
    const Json& given = schema.contains("properties") ? schema["properties"] : none;
    if (!given.is_object()) return invalid(at + "/properties", "expected an object");
    std::vector<std::string> required;
    if (schema.contains("required")) {
      if (!schema["required"].is_array()) return invalid(at + "/required", "expected an array");
      for (const Json& name : schema["required"]) {
        if (!name.is_string()) return invalid(at + "/required", "expected strings");
        required.push_back(name.get<std::string>());
      }
    }
    Json properties = given;
    const Json others = schema.contains("additionalProperties")
                            ? schema["additionalProperties"]
                            : Json(!schema.contains("properties") && required.empty());
    const Json unnamed = schema.contains("additionalProperties") ? others : Json(true);
    for (const std::string& name : required) {
      if (!properties.contains(name)) properties[name] = unnamed;
    }
    if (properties.size() > kMaxProperties)
      return fail(ErrorKind::kOutOfBudget, "schema at '{}/properties': the limit is {}", at, kMaxProperties);

    std::vector<Property> members;
    std::vector<std::string> names;
    for (const auto& [name, value] : properties.items()) {
      const std::string place =
          given.contains(name) ? at + "/properties/" + escaped(name) : at + "/additionalProperties";
      OXBOW_ASSIGN(const ExpressionId body, compile(value, place, nesting + 1));
      const ExpressionId member = e_.named(place, json_.member(e_.text(json_quoted(name)), body));
      names.push_back(name);
      members.push_back({member, contains(required, name)});
    }
    ExpressionId other = e_.nothing();
    const bool open = others != Json(false);
    if (open) {
      OXBOW_ASSIGN(const ExpressionId value, compile(others, at + "/additionalProperties", nesting + 1));
      const ExpressionId key = names.empty() ? json_.string() : string_except(e_, names);
      other = e_.named(at + "/additionalProperties", json_.member(key, value));
    }
    return object_of(members, open, other, at);
  }

  struct Property {
    ExpressionId member;
    bool required;
  };
  ExpressionId object_of(const std::vector<Property>& members, bool open, ExpressionId other,
                         const std::string& at) {
    const ExpressionId comma = e_.sequence({e_.text(","), json_.blanks()});
    const ExpressionId others = e_.repeat(e_.sequence({comma, other}), 0, kUnbounded);
    // What may follow when a member stands before, and when none does.
    ExpressionId after = open ? others : e_.empty();
    ExpressionId first = open ? e_.optional(e_.sequence({other, others})) : e_.empty();
    for (size_t i = members.size(); i-- > 0;) {
      const auto& [member, is_required] = members[i];
      const ExpressionId here = e_.sequence({member, after});
      first = is_required ? here : e_.choice({here, first});
      const ExpressionId next = e_.sequence({comma, member});
      after = e_.named(fmt::format("{}/after {}", at, i),
                       e_.sequence({is_required ? next : e_.optional(next), after}));
      if (i % 16 == 15) first = e_.named(fmt::format("{}/first {}", at, i), first);
    }
    return e_.sequence({e_.text("{"), json_.blanks(), first, json_.blanks(), e_.text("}")});
  }

  Expressions& e_;
  JsonTexts& json_;
  const Json& root_;
  std::string place_;
  const SchemaLimits& limits_;
  ResolveSchema resolve_;
  size_t merges_ = kMaxMerges;
  size_t schemas_ = 0;
  std::map<std::string, RuleId> references_;
  std::vector<std::pair<std::string, RuleId>> pending_;
};

}  // namespace

Result<ExpressionId> add_schema(Expressions& expressions, JsonTexts& json, const Json& schema,
                                const std::string& place, const SchemaLimits& limits) {
  return SchemaCompiler(expressions, json, schema, place, limits).run();
}

Result<Expressions> schema_expressions(const Json& schema) {
  Expressions expressions;
  const RuleId root = expressions.add_rule("root");
  JsonTexts json(expressions);
  OXBOW_ASSIGN(const ExpressionId body, add_schema(expressions, json, schema));
  expressions.define(root, body);
  return expressions;
}

Result<Expressions> json_object_expressions() {
  Expressions expressions;
  const RuleId root = expressions.add_rule("root");
  JsonTexts json(expressions);
  expressions.define(root, json.object());
  return expressions;
}

}  // namespace oxbow::grammar
