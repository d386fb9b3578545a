#include "cli/interrupt.h"

#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "cli/exit_code.h"

namespace oxbow::cli {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
constexpr int64_t kTwiceNanoseconds = 1'000'000'000;

// Written by the handler; lock-free atomics are async-signal-safe.
std::atomic<int> pending{0};
std::atomic<int64_t> last_interrupt{INT64_MIN / 2};
std::atomic<bool> double_exits{false};

std::array<struct sigaction, kSignals.size()> previous;
termios saved_terminal;
bool has_saved_terminal = false;

int64_t now_nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Only calls that are async-signal-safe.
[[noreturn]] void leave_at_once() {
  static constexpr char kReset[] = "\x1b[0m\x1b[?2004l\n";  // colours and bracketed paste off
  if (has_saved_terminal) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kReset, sizeof(kReset) - 1);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &saved_terminal);
  }
  ::_exit(kExitInterrupted);
}

void handle(int signal) {
  const int saved_errno = errno;
  const int64_t now = now_nanoseconds();
  const bool twice = now - last_interrupt.exchange(now) < kTwiceNanoseconds;
  if (signal == SIGINT && twice && double_exits) leave_at_once();
  pending = signal;
  errno = saved_errno;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  clear_interrupt();
  has_saved_terminal = ::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &saved_terminal) == 0;
  struct sigaction action {};
  action.sa_handler = handle;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a read of the terminal returns
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &previous[i]);
}

InterruptGuard::~InterruptGuard() {
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &previous[i], nullptr);
  double_exits = false;
}

int pending_interrupt() {
  return pending;
}
void clear_interrupt() {
  pending = 0;
}
bool interrupted_just_now() {
  return now_nanoseconds() - last_interrupt < kTwiceNanoseconds;
}
void set_double_interrupt_exits(bool exits) {
  double_exits = exits;
}

}  // namespace oxbow::cli
