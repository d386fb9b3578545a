#pragma once
// A thread, or the reason why the system refuses one.

#include <functional>
#include <thread>

#include "base/status.h"

namespace oxbow {

// kOutOfBudget when the system has no more threads or no memory for a stack. The caller joins the thread.
Result<std::thread> start_thread(std::function<void()> body);

}  // namespace oxbow
