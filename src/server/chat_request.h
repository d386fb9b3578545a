#pragma once
// The body of POST /v1/chat/completions.

#include "server/generation_request.h"

namespace oxbow::server {

struct ToolChoice {
  enum class Kind { kNone, kAuto, kRequired, kNamed };
  Kind kind = Kind::kAuto;
  std::string name;  // of kNamed
};

struct ChatRequest {
  GenerationRequest generation;
  Json messages;               // see read_messages()
  Json tools = Json::array();  // as sent; empty where the choice is "none"
  ToolChoice tool_choice;      // kNone without tools
  bool parallel_tool_calls = true;
  Json template_arguments = Json::object();
  bool continue_last = false;  // the answer goes on with the last message, an assistant's
  bool split_thinking = true;  // thoughts apart from the answer
};

// defaults: the model's sampling. Unknown fields are ignored. Errors: 400 with the field's name.
Checked<ChatRequest> parse_chat_request(const Json& body, const engine::SamplerSettings& defaults);

}  // namespace oxbow::server
