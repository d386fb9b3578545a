// The library itself: version, texts of codes, messages.

#include <fmt/format.h>

#include <string>

#include "base/log.h"
#include "c_api/guard.h"
#include "memory/prefix_tree.h"

using namespace oxbow;
using namespace oxbow::c_api;

namespace {

// The C enumerations follow these, so that a value converts by its number.
static_assert(static_cast<int>(LogLevel::kDebug) == OXBOW_LOG_DEBUG);
static_assert(static_cast<int>(LogLevel::kInfo) == OXBOW_LOG_INFO);
static_assert(static_cast<int>(LogLevel::kWarning) == OXBOW_LOG_WARNING);
static_assert(static_cast<int>(LogLevel::kError) == OXBOW_LOG_ERROR);

}  // namespace

const char* oxbow_last_error(void) {
  return last_error();
}

const char* oxbow_version(void) {
  return OXBOW_VERSION;
}

const char* oxbow_result_name(oxbow_result status) {
  switch (status) {
    case OXBOW_OK:
      return "ok";
    case OXBOW_INVALID_INPUT:
      return "invalid input";
    case OXBOW_UNSUPPORTED:
      return "unsupported";
    case OXBOW_NOT_FOUND:
      return "not found";
    case OXBOW_IO:
      return "input/output error";
    case OXBOW_OUT_OF_BUDGET:
      return "out of budget";
    case OXBOW_INVALID_STATE:
      return "invalid state";
    case OXBOW_BUFFER_TOO_SMALL:
      return "buffer too small";
    case OXBOW_OUT_OF_MEMORY:
      return "out of memory";
    case OXBOW_INTERNAL:
      return "internal error";
  }
  return "unknown status";
}

oxbow_result oxbow_set_log(oxbow_log_callback callback, void* user) {
  return guarded([&]() -> Outcome {
    if (callback == nullptr) {
      set_log_sink({});
      return {};
    }
    set_log_sink([callback, user](LogLevel level, std::string_view module, std::string_view message) {
      callback(static_cast<oxbow_log_level>(level), std::string(module).c_str(), std::string(message).c_str(),
               user);
    });
    return {};
  });
}
