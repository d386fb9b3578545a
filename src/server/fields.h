#pragma once
// Reads the members of a JSON object into variables, and says which one is wrong.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/json_body.h"

namespace oxbow::server {

// The first error stays and names the member with its way from the body: "messages[2].content". Members that
// are absent or null leave the variable as it is and answer false.
class Fields {
 public:
  // object: any value; members of what is no object are absent. It must live as long as this.
  explicit Fields(const Json& object, std::string path = {}) : object_(object), path_(std::move(path)) {}

  bool read(const char* name, bool& out);
  bool read(const char* name, std::string& out, size_t longest = std::numeric_limits<size_t>::max());
  // Within [low, high].
  bool read(const char* name, int64_t& out, int64_t low, int64_t high);
  bool read(const char* name, size_t& out, int64_t low, int64_t high);
  bool read(const char* name, float& out, double low, double high);
  // Null when absent or not of this type.
  const Json* array(const char* name);
  const Json* object(const char* name);
  // Any value but null.
  const Json* any(const char* name) const;

  void missing(const char* name);
  void wrong(const char* name, std::string_view expected);  // "stop: expected ..."
  void fail(ErrorAnswer error);
  // Takes over the first error of another reader.
  void join(const Fields& other);

  std::string path_of(std::string_view name) const;
  const std::optional<ErrorAnswer>& error() const { return error_; }

 private:
  const Json& object_;
  std::string path_;  // of the object: "", "tools[0]"
  std::optional<ErrorAnswer> error_;
};

// "invalid_value" about one field.
ErrorAnswer invalid_value(std::string parameter, std::string message);

// "a string", "an array", ... for messages.
std::string_view type_name(const Json& json);

}  // namespace oxbow::server
