#include "support/shared.h"

#include <cstdlib>
#include <filesystem>

namespace oxbow::testing {

std::string shared_directory() {
  const char* given = std::getenv("OXBOW_SHARED");
  const std::string path = given != nullptr ? given : source_path("../shared");
  return std::filesystem::is_directory(path) ? path : "";
}

std::string source_path(const std::string& relative) {
  return std::string(OXBOW_SOURCE_DIR) + "/" + relative;
}

}  // namespace oxbow::testing
