#pragma once
// Calls of tools in an answer, as deltas for clients.

#include <functional>
#include <memory>

#include "server/answer_text.h"
#include "server/json_body.h"
#include "text/tool_calls.h"

namespace oxbow::server {

// Makes one reader per answer.
std::function<std::unique_ptr<ToolCallReader>()> tool_call_readers(text::ToolCallFormat format, Json tools);

}  // namespace oxbow::server
