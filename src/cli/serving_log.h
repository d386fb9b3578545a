#pragma once
// The log of a server: lines of text or of JSON on stderr, from any thread.

#include <mutex>

#include "cli/console.h"

namespace oxbow::cli {

// While one lives, the library's messages go through it. Warnings always, info unless it is quiet; debug with
// verbosity 2.
class ServingLog {
 public:
  ServingLog(Console& console, bool json_lines);
  ~ServingLog();
  ServingLog(const ServingLog&) = delete;
  ServingLog& operator=(const ServingLog&) = delete;

 private:
  std::mutex mutex_;
};

}  // namespace oxbow::cli
