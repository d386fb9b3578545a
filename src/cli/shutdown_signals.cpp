#include "cli/shutdown_signals.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>

#include "cli/exit_code.h"

namespace oxbow::cli {
namespace {

sigset_t shutdown_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

void leave(int) {
  ::_exit(kExitInterrupted);
}

}  // namespace

// Blocked in this thread and in all that it starts, so that only wait() sees them.
ShutdownSignals::ShutdownSignals() {
  const sigset_t set = shutdown_set();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

ShutdownSignals::~ShutdownSignals() {
  const sigset_t set = shutdown_set();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

int ShutdownSignals::wait(std::chrono::milliseconds time) {
  const sigset_t set = shutdown_set();
  timespec limit{};
  limit.tv_sec = static_cast<std::time_t>(time.count() / 1000);
  limit.tv_nsec = static_cast<long>(time.count() % 1000) * 1'000'000;
  const int signal = ::sigtimedwait(&set, nullptr, &limit);
  return signal > 0 ? signal : 0;
}

void ShutdownSignals::let_next_one_end() {
  struct sigaction action {};
  action.sa_handler = leave;
  sigemptyset(&action.sa_mask);
  const sigset_t set = shutdown_set();
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace oxbow::cli
