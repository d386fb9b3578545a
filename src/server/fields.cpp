#include "server/fields.h"

#include <cmath>

namespace oxbow::server {

ErrorAnswer invalid_value(std::string parameter, std::string message) {
  return {.code = "invalid_value", .message = std::move(message), .parameter = std::move(parameter)};
}

std::string_view type_name(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::number_float:
      return "a number";
    default:
      return "an integer";
  }
}

std::string Fields::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

const Json* Fields::any(const char* name) const {
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void Fields::fail(ErrorAnswer error) {
  if (!error_) error_ = std::move(error);
}

void Fields::join(const Fields& other) {
  if (other.error_) fail(*other.error_);
}

void Fields::missing(const char* name) {
  fail({.code = "missing_field",
        .message = fmt::format("'{}' is missing", path_of(name)),
        .parameter = path_of(name)});
}

void Fields::wrong(const char* name, std::string_view expected) {
  const Json* given = any(name);
  const std::string_view type = given == nullptr ? "nothing" : type_name(*given);
  fail(invalid_value(path_of(name), fmt::format("'{}' is {}; expected {}", path_of(name), type, expected)));
}

bool Fields::read(const char* name, bool& out) {
  const Json* value = any(name);
  if (value == nullptr) return false;
  if (!value->is_boolean()) {
    wrong(name, "a boolean");
    return false;
  }
  out = value->get<bool>();
  return true;
}

bool Fields::read(const char* name, std::string& out, size_t longest) {
  const Json* value = any(name);
  if (value == nullptr) return false;
  if (!value->is_string()) {
    wrong(name, "a string");
    return false;
  }
  const auto& text = value->get_ref<const std::string&>();
  if (text.size() > longest) {
    fail(invalid_value(path_of(name), fmt::format("'{}' has {} bytes; expected {} at most", path_of(name),
                                                  text.size(), longest)));
    return false;
  }
  out = text;
  return true;
}

bool Fields::read(const char* name, int64_t& out, int64_t low, int64_t high) {
  const Json* value = any(name);
  if (value == nullptr) return false;
  if (!value->is_number_integer()) {
    wrong(name, fmt::format("an integer from {} to {}", low, high));
    return false;
  }
  const bool too_large = value->is_number_unsigned() &&
                         value->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const int64_t number = too_large ? std::numeric_limits<int64_t>::max() : value->get<int64_t>();
  if (number < low || number > high) {
    fail(invalid_value(path_of(name), fmt::format("'{}' is {}; expected an integer from {} to {}",
                                                  path_of(name), value->dump(), low, high)));
    return false;
  }
  out = number;
  return true;
}

bool Fields::read(const char* name, size_t& out, int64_t low, int64_t high) {
  int64_t number = 0;
  if (!read(name, number, low, high)) return false;
  out = static_cast<size_t>(number);
  return true;
}

bool Fields::read(const char* name, float& out, double low, double high) {
  const Json* value = any(name);
  if (value == nullptr) return false;
  if (!value->is_number()) {
    wrong(name, fmt::format("a number from {} to {}", low, high));
    return false;
  }
  const double number = value->get<double>();
  if (!(number >= low && number <= high)) {
    fail(invalid_value(path_of(name), fmt::format("'{}' is {}; expected a number from {} to {}",
                                                  path_of(name), value->dump(), low, high)));
    return false;
  }
  out = static_cast<float>(number);
  return true;
}

const Json* Fields::array(const char* name) {
  const Json* value = any(name);
  if (value == nullptr || value->is_array()) return value;
  wrong(name, "an array");
  return nullptr;
}

const Json* Fields::object(const char* name) {
  const Json* value = any(name);
  if (value == nullptr || value->is_object()) return value;
  wrong(name, "an object");
  return nullptr;
}

}  // namespace oxbow::server
