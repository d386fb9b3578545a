#include "server/messages.h"

#include <algorithm>

namespace oxbow::server {
namespace {

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c | 0x20) : c; });
  return text;
}

// The texts of an array of parts, joined by line breaks.
std::string join_parts(Fields& message, const Json& parts) {
  std::string joined;
  size_t number = 0;
  for (const Json& part : parts) {
    Fields fields(part, fmt::format("{}[{}]", message.path_of("content"), number));
    std::string type = "text", text;
    if (part.is_string()) {
      text = part.get<std::string>();
    } else if (!part.is_object()) {
      fields.fail(invalid_value(fields.path_of("type"), "a part of a message must be an object"));
    } else {
      fields.read("type", type);
      if (type == "text" || type == "input_text" || type == "output_text") {
        if (!fields.read("text", text) && !fields.error()) fields.missing("text");
      } else if (type == "refusal") {
        fields.read("refusal", text);
      } else {
        fields.fail(invalid_value(fields.path_of("type"),
                                  "this model takes text only; a part of a message has another type"));
      }
    }
    message.join(fields);
    if (number++ > 0) joined += '\n';
    joined += text;
  }
  return joined;
}

std::string read_content(Fields& message) {
  const Json* content = message.any("content");
  if (content == nullptr) return {};
  if (content->is_string()) return content->get<std::string>();
  if (content->is_array()) return join_parts(message, *content);
  message.wrong("content", "a string, an array of parts or null");
  return {};
}

// The arguments of a call: the JSON text of an object, or the object itself.
Json read_arguments(Fields& function) {
  const Json* arguments = function.any("arguments");
  if (arguments == nullptr) return Json::object();
  if (arguments->is_object()) return *arguments;
  if (!arguments->is_string()) {
    function.wrong("arguments", "the JSON text of an object");
    return {};
  }
  const auto& text = arguments->get_ref<const std::string&>();
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return Json::object();
  auto parsed = parse_json(text);
  if (parsed && parsed->is_object()) return std::move(*parsed);
  const std::string path = function.path_of("arguments");
  function.fail(invalid_value(path, fmt::format("'{}' is not the JSON text of an object", path)));
  return {};
}

Json read_calls(Fields& message, const Json& calls) {
  Json out = Json::array();
  for (const Json& call : calls) {
    Fields fields(call, fmt::format("{}[{}]", message.path_of("tool_calls"), out.size()));
    Json one = call.is_object() ? call : Json::object();
    const Json* function = fields.object("function");
    if (function == nullptr) {
      fields.missing("function");
    } else {
      Fields inner(*function, fields.path_of("function"));
      std::string name;
      if (!inner.read("name", name) && !inner.error()) inner.missing("name");
      one["function"]["arguments"] = read_arguments(inner);
      fields.join(inner);
    }
    if (!one.contains("type")) one["type"] = "function";
    message.join(fields);
    out.push_back(std::move(one));
  }
  return out;
}

Json read_message(Fields& fields, const Json& message) {
  Json out = message.is_object() ? message : Json::object();
  std::string role;
  if (!fields.read("role", role) && !fields.error()) fields.missing("role");
  role = lower_case(std::move(role));
  if (role == "developer") role = "system";
  out["role"] = role;
  const Json* calls = fields.array("tool_calls");
  const bool may_be_empty = role == "assistant";
  if (!may_be_empty && fields.any("content") == nullptr) fields.missing("content");
  out["content"] = read_content(fields);
  out.erase("tool_calls");
  if (calls != nullptr && !calls->empty()) out["tool_calls"] = read_calls(fields, *calls);
  std::string thoughts;
  const bool any = fields.read("reasoning", thoughts);
  if (fields.read("reasoning_content", thoughts) || any) out["reasoning_content"] = thoughts;
  out.erase("reasoning");
  for (const char* name : {"name", "tool_call_id"}) {
    std::string text;
    fields.read(name, text);
    if (fields.any(name) == nullptr) out.erase(name);
  }
  return out;
}

}  // namespace

Checked<Json> read_messages(Fields& fields) {
  const Json* messages = fields.array("messages");
  if (messages == nullptr && !fields.error()) fields.missing("messages");
  if (fields.error()) return tl::unexpected(*fields.error());
  if (messages->empty()) {
    fields.fail(invalid_value("messages", "'messages' is empty; expected one message at least"));
    return tl::unexpected(*fields.error());
  }
  Json out = Json::array();
  for (const Json& message : *messages) {
    Fields one(message, fmt::format("{}[{}]", fields.path_of("messages"), out.size()));
    if (!message.is_object())
      one.fail(invalid_value(fmt::format("messages[{}]", out.size()), "a message must be an object"));
    out.push_back(read_message(one, message));
    if (one.error()) return tl::unexpected(*one.error());
  }
  return out;
}

}  // namespace oxbow::server
