#pragma once
// Messages of a chat as clients send them, made into what chat templates expect.

#include "server/fields.h"

namespace oxbow::server {

// An array of objects with role and content, never empty: roles in lower case, "developer" as "system";
// content as one text (null is the empty text, parts are joined by line breaks); arguments of tool calls as
// objects; "reasoning" as "reasoning_content". Other members stay as they are. Errors name the member:
// "messages[2].content".
Checked<Json> read_messages(Fields& fields);

}  // namespace oxbow::server
