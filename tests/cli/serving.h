#pragma once
// `oxbow serve` as a process of its own.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace oxbow::testing {

class ServingProgram {
 public:
  // Runs "oxbow serve --port 0 ARGUMENTS" and waits for the line that says where it listens.
  explicit ServingProgram(std::vector<std::string> arguments);
  // Ends it when it still runs.
  ~ServingProgram();
  ServingProgram(const ServingProgram&) = delete;
  ServingProgram& operator=(const ServingProgram&) = delete;

  uint16_t port() const { return port_; }  // 0: it did not start
  const std::string& first_line() const { return first_line_; }
  void signal(int number) const;
  // Its exit code, 128 + signal when a signal ended it, -1 when it still runs after 20 seconds.
  int wait();
  // Waits until /readyz says so.
  bool wait_until_ready() const;

 private:
  pid_t process_ = -1;
  int out_ = -1;
  uint16_t port_ = 0;
  std::string first_line_;
};

}  // namespace oxbow::testing
