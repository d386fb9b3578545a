#pragma once
// Which file is the model.

#include <string>
#include <vector>

#include "base/status.h"

namespace oxbow::cli {

inline constexpr const char* kModelVariable = "OXBOW_MODEL";
inline constexpr const char* kBundledName = "oxbow-mini.gguf";

// Where the bundled model may lie, in the order of the search: share/oxbow beside the executable's folder,
// then models/ in up to four folders above it (a build tree).
std::vector<std::string> bundled_candidates(const std::string& executable_folder);

// The folder of this program's file; "." when the system does not say.
std::string executable_folder();

// The model to open: `given`, or when it is empty the environment's, or the bundled one. kNotFound says where
// was looked and names the GGUF files near a path that does not exist or is a folder.
Result<std::string> find_model(const std::string& given, const char* environment,
                               const std::vector<std::string>& candidates);
Result<std::string> find_model(const std::string& given);

}  // namespace oxbow::cli
