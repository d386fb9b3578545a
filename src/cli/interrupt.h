#pragma once
// Ctrl-C and its relatives as a flag that loops look at.

namespace oxbow::cli {

// While one lives, SIGINT, SIGTERM and SIGHUP set a flag instead of ending the process. At most one at a
// time, on the main thread.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

// The signal that arrived since the last clear, 0 for none.
int pending_interrupt();
void clear_interrupt();

// Whether the last interrupt is less than a second old.
bool interrupted_just_now();

// While set, a second Ctrl-C within a second restores the terminal and ends the process with exit code 130,
// even when nobody looks at the flag. Only for work that leaves nothing behind.
void set_double_interrupt_exits(bool exits);

}  // namespace oxbow::cli
