#include "base/start_thread.h"

#include <system_error>

namespace oxbow {

Result<std::thread> start_thread(std::function<void()> body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    return fail(ErrorKind::kOutOfBudget, "the system refuses a thread: {}", error.what());
  }
}

}  // namespace oxbow
