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

class Converter {
 public:
  Converter(Heap& heap, const StringMap& map) : heap_(heap), map_(map) {}

  Result<Value> convert(const ordered_json& json, unsigned depth) {
    if (depth > heap_.limits().value_depth)
      return fail(ErrorKind::kOutOfBudget, "JSON is nested more than {} deep", heap_.limits().value_depth);
    OXBOW_TRY(heap_.spend(1));
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
        return convert_string(json.get_ref<const std::string&>());
      case ordered_json::value_t::object:
        return convert_object(json, depth);
      case ordered_json::value_t::array:
        return convert_array(json, depth);
      default:
        return Value(None{});
    }
  }

 private:
  Result<Value> convert_string(const std::string& text) {
    std::string whole = repaired(text);
    return heap_.string(map_ ? map_(whole) : std::move(whole));
  }

  Result<Value> convert_array(const ordered_json& json, unsigned depth) {
    std::vector<Value> items;
    for (const ordered_json& item : json) {
      OXBOW_ASSIGN(Value value, convert(item, depth + 1));
      items.push_back(std::move(value));
    }
    return heap_.list(std::move(items));
  }

  Result<Value> convert_object(const ordered_json& json, unsigned depth) {
    std::vector<std::pair<Value, Value>> entries;
    for (const auto& [name, member] : json.items()) {
      OXBOW_ASSIGN(Value key, convert_string(name));
      OXBOW_ASSIGN(Value value, convert(member, depth + 1));
      entries.emplace_back(std::move(key), std::move(value));
    }
    return heap_.dict(std::move(entries));
  }

  Heap& heap_;
  const StringMap& map_;
};

}  // namespace

Result<Value> from_json(Heap& heap, const ordered_json& json, const StringMap& map) {
  return Converter(heap, map).convert(json, 0);
}

}  // namespace oxbow::text::jinja
