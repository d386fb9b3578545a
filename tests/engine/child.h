#pragma once
// A function in a process of its own.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

namespace oxbow::testing {

// Forked while this process has no threads of its own. Ends with the object, at the latest.
class Child {
 public:
  // `body` runs in the child and says there what to print to the parent.
  explicit Child(const std::function<std::string()>& body) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      const std::string text = body();
      const bool written = ::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
      ::_exit(written ? 0 : 1);
    }
    ::close(ends[1]);
    output_ = ends[0];
  }
  ~Child() {
    kill();
    ::close(output_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // SIGKILL, and waits for its end.
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  // What it printed, after its end. Fails the test when it did not end well.
  std::string finish() {
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(output_, buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<size_t>(got));
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pid_ = -1;
    return text;
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

}  // namespace oxbow::testing
