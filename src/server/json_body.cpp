#include "server/json_body.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace oxbow::server {
namespace {

// Counts while the parser reads, and ends it at the first limit.
class LimitCheck {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  explicit LimitCheck(const JsonLimits& limits) : limits_(limits) {}

  bool null() { return value(); }
  bool boolean(bool) { return value(); }
  bool number_integer(number_integer_t) { return value(); }
  bool number_unsigned(number_unsigned_t) { return value(); }
  bool number_float(number_float_t, const string_t&) { return value(); }
  bool string(string_t&) { return value(); }
  bool binary(binary_t&) { return value(); }
  bool start_object(size_t) { return open(); }
  bool start_array(size_t) { return open(); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(string_t&) {
    if (++members_.back() <= limits_.members) return true;
    return exceed(fmt::format("an object has more than {} members", limits_.members));
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) {
    broken_at_ = position;
    return false;
  }

  const std::string& exceeded() const { return exceeded_; }
  size_t broken_at() const { return broken_at_; }  // bytes read when the text turned out to be no JSON

 private:
  bool value() {
    if (++values_ <= limits_.values) return true;
    return exceed(fmt::format("it has more than {} values", limits_.values));
  }
  bool open() {
    members_.push_back(0);
    if (members_.size() > limits_.depth)
      return exceed(fmt::format("it is nested deeper than {} levels", limits_.depth));
    return value();
  }
  bool close() {
    members_.pop_back();
    return true;
  }
  bool exceed(std::string what) {
    exceeded_ = std::move(what);
    return false;
  }

  const JsonLimits& limits_;
  std::vector<size_t> members_;  // of the objects and arrays that are open
  size_t values_ = 0;
  size_t broken_at_ = 0;
  std::string exceeded_;
};

std::string place_of(std::string_view text, size_t bytes_read) {
  const std::string_view before = text.substr(0, std::min(bytes_read == 0 ? 0 : bytes_read - 1, text.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const size_t line_start = before.rfind('\n') + 1;  // 0 when there is none
  return fmt::format("line {}, column {}", line, before.size() - line_start + 1);
}

}  // namespace

Checked<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  LimitCheck check(limits);
  const bool whole = Json::sax_parse(text, &check);
  if (!check.exceeded().empty()) {
    return tl::unexpected(
        ErrorAnswer{.code = "invalid_json", .message = "the JSON is too large: " + check.exceeded()});
  }
  Json json = whole ? Json::parse(text, nullptr, false) : Json(Json::value_t::discarded);
  if (json.is_discarded()) {
    return tl::unexpected(ErrorAnswer{
        .code = "invalid_json",
        .message = fmt::format("the body is no valid JSON ({})", place_of(text, check.broken_at()))});
  }
  return json;
}

Checked<Json> parse_body(std::string_view text, const JsonLimits& limits) {
  auto json = parse_json(text, limits);
  if (json && !json->is_object()) {
    return tl::unexpected(ErrorAnswer{.code = "invalid_json", .message = "the body must be a JSON object"});
  }
  return json;
}

std::string to_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace oxbow::server
