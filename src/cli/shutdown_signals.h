#pragma once
// SIGINT and SIGTERM for a server: the first asks it to finish, the second ends it.

#include <chrono>

namespace oxbow::cli {

// Make it before any thread is started. At most one at a time.
class ShutdownSignals {
 public:
  ShutdownSignals();
  ~ShutdownSignals();
  ShutdownSignals(const ShutdownSignals&) = delete;
  ShutdownSignals& operator=(const ShutdownSignals&) = delete;

  // The signal that came within the time, 0 for none.
  int wait(std::chrono::milliseconds time);
  // From now on a signal ends the process at once, with exit code 130.
  void let_next_one_end();
};

}  // namespace oxbow::cli
