#pragma once
// What a line of a chat asks for.

#include <string>
#include <string_view>
#include <vector>

namespace oxbow::cli {

enum class ChatAction {
  kMessage,
  kHelp,
  kExit,
  kClear,
  kAgain,
  kUndo,
  kEdit,
  kSave,
  kLoad,
  kSystem,
  kStats,
  kRead,
  kTree,
  kBranch,
  kBack,
  kUnknown
};

struct ChatRequest {
  ChatAction action = ChatAction::kMessage;
  std::string argument;  // the message, what follows the command, or for kUnknown the nearest command
};

// "/name rest" is a command when it is one line without further slashes in its name ("/usr/bin" is a
// message).
ChatRequest parse_chat_line(const std::string& line);

std::string_view chat_help();

// For the line editor: commands, and for /read the paths of files.
std::vector<std::string> complete_chat_line(std::string_view line);

}  // namespace oxbow::cli
