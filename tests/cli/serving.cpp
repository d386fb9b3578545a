#include "cli/serving.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "server/raw_client.h"

namespace oxbow::testing {

using namespace std::chrono_literals;

ServingProgram::ServingProgram(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"oxbow", "serve", "--port", "0"});
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  out_ = ends[0];
  process_ = ::fork();
  if (process_ == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    ::execv(OXBOW_BINARY, argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  char c = 0;
  pollfd entry{out_, POLLIN, 0};
  while (::poll(&entry, 1, 20'000) > 0 && ::read(out_, &c, 1) == 1 && c != '\n') first_line_ += c;
  const size_t colon = first_line_.rfind(':');
  if (first_line_.starts_with("listening on ") && colon != std::string::npos) {
    port_ = static_cast<uint16_t>(std::strtoul(first_line_.c_str() + colon + 1, nullptr, 10));
  }
}

ServingProgram::~ServingProgram() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  if (out_ >= 0) ::close(out_);
}

void ServingProgram::signal(int number) const {
  if (process_ > 0) ::kill(process_, number);
}

int ServingProgram::wait() {
  for (int i = 0; i < 2000 && process_ > 0; ++i) {
    int status = 0;
    if (::waitpid(process_, &status, WNOHANG) == process_) {
      process_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    std::this_thread::sleep_for(10ms);
  }
  return -1;
}

bool ServingProgram::wait_until_ready() const {
  for (int i = 0; i < 1000; ++i) {
    server::test::RawClient client(port_);
    client.send(server::test::get("/readyz"));
    if (client.read_answer().starts_with("HTTP/1.1 200")) return true;
    std::this_thread::sleep_for(20ms);
  }
  return false;
}

}  // namespace oxbow::testing
