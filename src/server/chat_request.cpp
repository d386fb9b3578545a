#include "server/chat_request.h"

#include <algorithm>

#include "server/messages.h"

namespace oxbow::server {
namespace {

constexpr size_t kMostTools = 512;

void read_tools(Fields& fields, ChatRequest& request) {
  const Json* tools = fields.array("tools");
  if (tools == nullptr) return;
  if (tools->size() > kMostTools) {
    fields.fail(invalid_value(
        "tools", fmt::format("'tools' has {} entries; expected {} at most", tools->size(), kMostTools)));
  }
  size_t number = 0;
  for (const Json& tool : *tools) {
    Fields one(tool, fmt::format("tools[{}]", number++));
    std::string type = "function", name;
    one.read("type", type);
    if (type != "function")
      one.fail(invalid_value(one.path_of("type"), "only tools of the type 'function' are supported"));
    const Json* function = one.object("function");
    if (function == nullptr) {
      one.missing("function");
    } else {
      Fields inner(*function, one.path_of("function"));
      if ((!inner.read("name", name) || name.empty()) && !inner.error()) inner.missing("name");
      inner.object("parameters");
      one.join(inner);
    }
    fields.join(one);
  }
  request.tools = *tools;
}

bool has_tool(const Json& tools, std::string_view name) {
  return std::ranges::any_of(tools, [&](const Json& tool) { return tool["function"]["name"] == name; });
}

void read_named_choice(Fields& fields, const Json& choice, ChatRequest& request) {
  Fields inner(choice, "tool_choice");
  std::string type;
  inner.read("type", type);
  const Json* function = inner.object("function");
  if (type != "function" || function == nullptr) {
    inner.fail(invalid_value("tool_choice",
                             "'tool_choice' must be none, auto, required or "
                             "{\"type\": \"function\", \"function\": {\"name\": ...}}"));
  } else {
    Fields named(*function, "tool_choice.function");
    if (!named.read("name", request.tool_choice.name) && !named.error()) named.missing("name");
    inner.join(named);
  }
  request.tool_choice.kind = ToolChoice::Kind::kNamed;
  fields.join(inner);
}

void read_tool_choice(Fields& fields, ChatRequest& request) {
  using Kind = ToolChoice::Kind;
  const Json* choice = fields.any("tool_choice");
  if (choice == nullptr || *choice == "auto") {
    request.tool_choice.kind = Kind::kAuto;
  } else if (*choice == "none") {
    request.tool_choice.kind = Kind::kNone;
  } else if (*choice == "required" || *choice == "any") {
    request.tool_choice.kind = Kind::kRequired;
  } else {
    read_named_choice(fields, *choice, request);
  }
  if (fields.error()) return;
  const bool forced = request.tool_choice.kind == Kind::kRequired || request.tool_choice.kind == Kind::kNamed;
  if (forced && request.tools.empty())
    fields.fail(invalid_value("tool_choice", "'tool_choice' asks for a call, but there are no 'tools'"));
  if (request.tool_choice.kind == Kind::kNamed && !has_tool(request.tools, request.tool_choice.name))
    fields.fail(invalid_value("tool_choice", "'tool_choice' names a function that is not among the 'tools'"));
  if (request.tool_choice.kind == Kind::kNone) request.tools = Json::array();
  if (request.tools.empty()) request.tool_choice.kind = Kind::kNone;
}

void read_template_arguments(Fields& fields, ChatRequest& request) {
  std::string effort;
  if (fields.read("reasoning_effort", effort)) {
    request.template_arguments["reasoning_effort"] = effort;
    // The one value that asks for no thoughts; families name the switch differently.
    if (effort == "none")
      request.template_arguments["enable_thinking"] = request.template_arguments["thinking"] = false;
  }
  if (const Json* given = fields.object("chat_template_kwargs")) request.template_arguments.update(*given);
  std::string format;
  if (fields.read("reasoning_format", format)) request.split_thinking = format != "none";
}

// The last message goes on when it is an assistant's, unless the request says otherwise.
void read_continuation(Fields& fields, ChatRequest& request) {
  const Json& last = request.messages.back();
  const bool is_open = last["role"] == "assistant" && !last.contains("tool_calls");
  bool generation_prompt = false, wanted = is_open;
  if (fields.read("add_generation_prompt", generation_prompt) && generation_prompt) wanted = false;
  if (fields.read("continue_final_message", wanted) && wanted && !is_open) {
    fields.fail(
        invalid_value("continue_final_message",
                      "'continue_final_message' needs a last message of the assistant, without calls"));
  }
  request.continue_last = wanted;
}

void check_together(Fields& fields, const ChatRequest& request) {
  using Kind = ToolChoice::Kind;
  const bool forced = request.tool_choice.kind == Kind::kRequired || request.tool_choice.kind == Kind::kNamed;
  const Structure& structure = request.generation.structure;
  if (forced && structure.kind != Structure::Kind::kFree) {
    fields.fail(invalid_value(
        "tool_choice", fmt::format("'tool_choice' asks for a call, '{}' for another form", structure.path)));
  }
}

}  // namespace

Checked<ChatRequest> parse_chat_request(const Json& body, const engine::SamplerSettings& defaults) {
  Fields fields(body);
  ChatRequest request;
  request.generation.sampling = defaults;
  auto messages = read_messages(fields);
  if (!messages) return tl::unexpected(std::move(messages).error());
  request.messages = std::move(*messages);
  read_generation(fields, request.generation);
  read_chat_logprobs(fields, request.generation);
  read_tools(fields, request);
  if (!fields.error()) read_tool_choice(fields, request);
  fields.read("parallel_tool_calls", request.parallel_tool_calls);
  read_template_arguments(fields, request);
  read_continuation(fields, request);
  check_together(fields, request);
  if (fields.error()) return tl::unexpected(*fields.error());
  return request;
}

}  // namespace oxbow::server
