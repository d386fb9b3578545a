#pragma once
// A conversation as JSON, as it stands in a session file.

#include <string>
#include <string_view>

#include "base/status.h"
#include "cli/conversation.h"

namespace oxbow::cli {

std::string to_json(const Conversation& conversation);

// Replaces the conversation by one that to_json wrote; its format stays. vocabulary: token ids must be below
// it; 0: the file is from another model, whose token ids mean nothing here, and only texts are taken. The
// text comes from outside: kInvalidInput says what is wrong with it, and nothing is replaced.
Status from_json(std::string_view json, size_t vocabulary, Conversation& conversation);

}  // namespace oxbow::cli
