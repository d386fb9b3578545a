#include "cli/binary.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace oxbow::testing {
namespace {

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    close_read();
    close_write();
  }
  void close_read() {
    if (read_end >= 0) ::close(read_end);
    read_end = -1;
  }
  void close_write() {
    if (write_end >= 0) ::close(write_end);
    write_end = -1;
  }
};

[[noreturn]] void become_program(const std::vector<std::string>& arguments, const ProgramInput& input, int in,
                                 int out, int err) {
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::signal(SIGPIPE, SIG_DFL);
  for (const char* name : {"OXBOW_MODEL", "NO_COLOR", "CLICOLOR_FORCE"}) ::unsetenv(name);
  for (const std::string& variable : input.environment) ::putenv(const_cast<char*>(variable.c_str()));
  if (input.file_size_limit > 0) {
    const rlimit limit{input.file_size_limit, input.file_size_limit};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  std::vector<char*> argv = {const_cast<char*>("oxbow")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(OXBOW_BINARY, argv.data());
  ::_exit(127);
}

void collect(int out, int err, ProgramRun& run) {
  std::array<pollfd, 2> polls = {pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
  int open = (out >= 0 ? 1 : 0) + 1;
  while (open > 0) {
    if (::poll(polls.data(), polls.size(), -1) < 0) continue;
    for (size_t i = 0; i < polls.size(); ++i) {
      if (polls[i].fd < 0 || polls[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t count = ::read(polls[i].fd, buffer, sizeof(buffer));
      if (count > 0) {
        (i == 0 ? run.out : run.err).append(buffer, static_cast<size_t>(count));
      } else {
        polls[i].fd = -1;
        --open;
      }
    }
  }
}

}  // namespace

ProgramRun run_program(const std::vector<std::string>& arguments, const ProgramInput& input) {
  TemporaryFolder folder;
  write_file(folder.path("in"), input.in);
  const int in = ::open(folder.path("in").c_str(), O_RDONLY | O_CLOEXEC);
  const int out_file =
      input.out_path ? ::open(input.out_path->c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644) : -1;
  Pipe out, err;
  if (input.close_out) out.close_read();
  const pid_t child = ::fork();
  if (child == 0)
    become_program(arguments, input, in, out_file >= 0 ? out_file : out.write_end, err.write_end);
  out.close_write();
  err.close_write();
  ProgramRun run;
  collect(out.read_end, err.read_end, run);
  int status = 0;
  ::waitpid(child, &status, 0);
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ::close(in);
  if (out_file >= 0) ::close(out_file);
  return run;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "oxbow-cli-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace oxbow::testing
