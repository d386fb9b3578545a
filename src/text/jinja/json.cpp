#include "text/jinja/json.h"

#include <nlohmann/json.hpp>

#include "text/unicode.h"

namespace oxbow::text::jinja {

namespace {

using nlohmann::ordered_json;

std::string repaired(std::string_view text) {
  std::string out;
  while (true) {
    const size_t valid = valid_utf8_prefix(text);
    out += text.substr(0, valid);
    if (valid == text.size()) return out;
    out += kReplacementUtf8;
    text.remove_prefix(valid + 1);
  }
}

Result<Value> convert(Heap& heap, const ordered_json& json, unsigned depth);

Result<Value> convert_object(Heap& heap, const ordered_json& json, unsigned depth) {
  auto made = std::vector<std::pair<Value, Value>>();
  for (const auto& [name, member] : json.items()) {
    OXBOW_ASSIGN(Value key, heap.string(repaired(name)));
    OXBOW_ASSIGN(Value value, convert(heap, member, depth + 1));
    made.emplace_back(std::move(key), std::move(value));
  }
  return heap.dict(std::move(made));
}

Result<Value> convert(Heap& heap, const ordered_json& json, unsigned depth) {
  if (depth > heap.limits().value_depth)
    return fail(ErrorKind::kOutOfBudget, "JSON is nested more than {} deep", heap.limits().value_depth);
  OXBOW_TRY(heap.spend(1));
  switch (json.type()) {
    case ordered_json::value_t::boolean:
      return Value(json.get<bool>());
    case ordered_json::value_t::number_integer:
      return Value(json.get<int64_t>());
    case ordered_json::value_t::number_unsigned: {
      const auto number = json.get<uint64_t>();
      if (number > INT64_MAX) return Value(static_cast<double>(number));
      return Value(static_cast<int64_t>(number));
    }
    case ordered_json::value_t::number_float:
      return Value(json.get<double>());
    case ordered_json::value_t::string:
      return heap.string(repaired(json.get_ref<const std::string&>()));
    case ordered_json::value_t::object:
      return convert_object(heap, json, depth);
    case ordered_json::value_t::array: {
      std::vector<Value> items;
      for (const ordered_json& item : json) {
        OXBOW_ASSIGN(Value value, convert(heap, item, depth + 1));
        items.push_back(std::move(value));
      }
      return heap.list(std::move(items));
    }
    default:
      return Value(None{});
  }
}

}  // namespace

Result<Value> from_json(Heap& heap, const ordered_json& json) {
  return convert(heap, json, 0);
}

}  // namespace oxbow::text::jinja
