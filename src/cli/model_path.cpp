#include "cli/model_path.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace oxbow::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kShownFiles = 8;
constexpr int kFoldersAbove = 4;

std::vector<std::string> gguf_files_in(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".gguf") files.push_back(it->path().string());
  }
  std::ranges::sort(files);
  return files;
}

std::string list_near(const fs::path& folder) {
  std::vector<std::string> files = gguf_files_in(folder);
  if (files.empty()) return fmt::format("there is no .gguf file in {}", folder.string());
  const size_t count = files.size();
  files.resize(std::min(count, kShownFiles));
  std::string text = fmt::format("GGUF files in {}:", folder.string());
  for (const std::string& file : files) text += "\n  " + file;
  if (count > kShownFiles) text += fmt::format("\n  and {} more", count - kShownFiles);
  return text;
}

Result<std::string> check_given(const std::string& given, std::string_view source) {
  std::error_code error;
  const fs::file_status status = fs::status(given, error);
  if (fs::is_directory(status)) {
    return fail(ErrorKind::kNotFound, "{} {} is a folder, expected a GGUF file; {}", source, given,
                list_near(given));
  }
  if (!fs::exists(status)) {
    const fs::path parent = fs::path(given).parent_path();
    const fs::path folder = parent.empty() || !fs::is_directory(parent, error) ? fs::path(".") : parent;
    const bool may_be_text = parent.empty() && !given.ends_with(".gguf");
    return fail(ErrorKind::kNotFound, "{} {} does not exist{}; {}", source, given,
                may_be_text ? " (a prompt for the bundled model goes after -p)" : "", list_near(folder));
  }
  return given;
}

}  // namespace

std::string executable_folder() {
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  return error || executable.parent_path().empty() ? "." : executable.parent_path().string();
}

std::vector<std::string> bundled_candidates(const std::string& executable_folder) {
  const fs::path folder = fs::path(executable_folder).lexically_normal();
  std::vector<std::string> candidates = {(folder.parent_path() / "share" / "oxbow" / kBundledName).string()};
  fs::path above = folder;
  for (int i = 0; i < kFoldersAbove && above.has_relative_path(); ++i) {
    above = above.parent_path();
    candidates.push_back((above / "models" / kBundledName).string());
  }
  return candidates;
}

Result<std::string> find_model(const std::string& given, const char* environment,
                               const std::vector<std::string>& candidates) {
  if (!given.empty()) return check_given(given, "the model");
  if (environment != nullptr && *environment != '\0')
    return check_given(environment, "the model in OXBOW_MODEL");
  std::error_code error;
  for (const std::string& candidate : candidates) {
    if (fs::is_regular_file(candidate, error)) return candidate;
  }
  return fail(ErrorKind::kNotFound,
              "no model was given and the bundled one is not installed; name a GGUF file with -m FILE or in "
              "{}. Looked "
              "for\n  {}",
              kModelVariable, fmt::join(candidates, "\n  "));
}

Result<std::string> find_model(const std::string& given) {
  return find_model(given, std::getenv(kModelVariable), bundled_candidates(executable_folder()));
}

}  // namespace oxbow::cli
