#include "cli/saved_sessions.h"

#include <algorithm>
#include <filesystem>

namespace oxbow::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kExtension = ".oxbow";

}  // namespace

std::string sessions_folder(const char* xdg_state_home, const char* home) {
  if (xdg_state_home != nullptr && *xdg_state_home == '/')
    return (fs::path(xdg_state_home) / "oxbow" / "sessions").string();
  if (home != nullptr && *home == '/')
    return (fs::path(home) / ".local" / "state" / "oxbow" / "sessions").string();
  return {};
}

Result<std::string> session_path(std::string_view name, const std::string& folder) {
  if (name.empty()) return fail(ErrorKind::kInvalidInput, "a name is missing");
  if (name.find('/') != std::string_view::npos) return std::string(name);
  if (name == "." || name == ".." || name.find('\0') != std::string_view::npos)
    return fail(ErrorKind::kInvalidInput, "\"{}\" is no name for a session", name);
  if (folder.empty())
    return fail(ErrorKind::kInvalidInput, "there is no home folder for \"{}\": give a path such as ./{}",
                name, name);
  return (fs::path(folder) / (std::string(name) + std::string(kExtension))).string();
}

std::vector<std::string> saved_sessions(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == kExtension) names.push_back(it->path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace oxbow::cli
