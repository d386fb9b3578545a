#pragma once
// Where conversations are saved.

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace oxbow::cli {

// The folder of named sessions: XDG_STATE_HOME/oxbow/sessions, or the same under ~/.local/state; empty when
// neither variable is an absolute path.
std::string sessions_folder(const char* xdg_state_home, const char* home);

// The file for a name given to /save or /load: NAME.oxbow in the folder, or the path itself when the name has
// a slash. kInvalidInput for an empty name, or for a plain one without a folder.
Result<std::string> session_path(std::string_view name, const std::string& folder);

// Names in the folder, sorted.
std::vector<std::string> saved_sessions(const std::string& folder);

}  // namespace oxbow::cli
