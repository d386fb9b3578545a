#include "cli/chat_commands.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "cli/arguments.h"

namespace oxbow::cli {
namespace {

namespace fs = std::filesystem;

struct NamedAction {
  std::string_view name;
  ChatAction action;
};

constexpr auto kActions = std::to_array<NamedAction>({
    {"/help", ChatAction::kHelp},
    {"/?", ChatAction::kHelp},
    {"/exit", ChatAction::kExit},
    {"/bye", ChatAction::kExit},
    {"/quit", ChatAction::kExit},
    {"/clear", ChatAction::kClear},
    {"/regen", ChatAction::kAgain},
    {"/undo", ChatAction::kUndo},
    {"/edit", ChatAction::kEdit},
    {"/save", ChatAction::kSave},
    {"/load", ChatAction::kLoad},
    {"/system", ChatAction::kSystem},
    {"/stats", ChatAction::kStats},
    {"/read", ChatAction::kRead},
    {"/tree", ChatAction::kTree},
    {"/branch", ChatAction::kBranch},
    {"/back", ChatAction::kBack},
});

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::vector<std::string> complete_path(const std::string& before, const std::string& typed) {
  const fs::path path(typed);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string beginning = path.filename().string();
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(beginning) || (beginning.empty() && name.starts_with('.'))) continue;
    const fs::path full = path.has_parent_path() ? path.parent_path() / name : fs::path(name);
    std::error_code ignored;
    found.push_back(before + full.string() + (it->is_directory(ignored) ? "/" : ""));
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

ChatRequest parse_chat_line(const std::string& line) {
  const size_t space = line.find_first_of(" \t\n");
  const std::string_view name = std::string_view(line).substr(0, space);
  if (!name.starts_with('/') || name.size() < 2 || name.find('/', 1) != std::string_view::npos) {
    return {ChatAction::kMessage, line};
  }
  const auto found = std::ranges::find(kActions, name, &NamedAction::name);
  if (found == kActions.end()) {
    std::vector<std::string> names;
    for (const NamedAction& action : kActions) names.emplace_back(action.name.substr(1));
    const std::string near = nearest(name.substr(1), names);
    return {ChatAction::kUnknown, near.empty() ? std::string() : "/" + near};
  }
  const std::string_view rest =
      space == std::string::npos ? std::string_view() : std::string_view(line).substr(space + 1);
  return {found->action, std::string(trim(rest))};
}

std::string_view chat_help() {
  return "  /help, /?        this list\n"
         "  /exit, /bye      leave (also Ctrl-D)\n"
         "  /clear           forget the conversation\n"
         "  /regen           another answer to the last message\n"
         "  /undo            take the last message and its answer back\n"
         "  /edit TEXT       another message in place of the last one\n"
         "  /system TEXT     set the system message; without a text, show it\n"
         "  /read FILE       put a file's text before the next message\n"
         "  /tree            all turns, also those that were taken back\n"
         "  /branch N        go on after turn N of the tree\n"
         "  /back            to where /undo, /regen or /branch left\n"
         "  /save NAME       the conversation and its state, for /load NAME (a name with / is a path)\n"
         "  /load NAME       go on with a saved conversation; without a name, list them\n"
         "  /stats           tokens and memory in use, and what was reused\n"
         "  \"\"\"              begins and ends a message of several lines (also Alt-Enter, or paste them)\n"
         "  Ctrl-C stops an answer; what was written stays.";
}

std::vector<std::string> complete_chat_line(std::string_view line) {
  constexpr std::string_view kRead = "/read ";
  if (line.starts_with(kRead))
    return complete_path(std::string(kRead), std::string(line.substr(kRead.size())));
  std::vector<std::string> found;
  if (!line.starts_with('/')) return found;
  for (const NamedAction& action : kActions) {
    if (action.name.starts_with(line)) found.emplace_back(action.name);
  }
  return found;
}

}  // namespace oxbow::cli
