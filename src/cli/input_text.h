#pragma once
// Text that comes from files and standard input.

#include <cstddef>
#include <string>

#include "base/status.h"

namespace oxbow::cli {

inline constexpr size_t kLongestInputBytes = size_t{256} << 20;

// The whole file, "-" for standard input. kNotFound; kIo, also for a folder and for more than
// kLongestInputBytes.
Result<std::string> read_text(const std::string& path);

// The text without one newline at its end, which editors and echo add.
std::string without_last_newline(std::string text);

}  // namespace oxbow::cli
