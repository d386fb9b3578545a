#pragma once
// Runs the built program as a shell would.

#include <optional>
#include <string>
#include <vector>

namespace oxbow::testing {

struct ProgramRun {
  int exit_code = -1;  // 128 + signal when a signal ended it
  std::string out;
  std::string err;
};

struct ProgramInput {
  std::string in;                             // standard input
  std::optional<std::string> out_path;        // standard output goes there instead of into ProgramRun::out
  std::vector<std::string> environment = {};  // "NAME=value", besides this process's
  size_t file_size_limit = 0;                 // bytes, 0: none
  bool close_out = false;                     // the reader of the standard output is gone
};

ProgramRun run_program(const std::vector<std::string>& arguments, const ProgramInput& input = {});

// A folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

}  // namespace oxbow::testing
