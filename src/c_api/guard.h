#pragma once
// The border to C: what a call came to, and the text of the thread's latest failure. No exception crosses it.

#include <oxbow/oxbow.h>

#include <string>
#include <type_traits>
#include <utility>

#include "base/status.h"

namespace oxbow::c_api {

// The end of a call: success, an error of the engine, or a status that only the C interface has.
class Outcome {
 public:
  Outcome() = default;
  Outcome(Status&& status);                  // NOLINT: implicit on purpose
  Outcome(tl::unexpected<Error>&& problem);  // NOLINT: implicit on purpose
  Outcome(oxbow_result status, std::string text) : status_(status), text_(std::move(text)) {}

  oxbow_result status() const { return status_; }
  const std::string& text() const { return text_; }

 private:
  oxbow_result status_ = OXBOW_OK;
  std::string text_;
};

// Remembers a failure for oxbow_last_error() and returns its status.
oxbow_result record(const Outcome& outcome) noexcept;
// To be called in a handler: remembers the exception that is being handled.
oxbow_result record_exception() noexcept;
const char* last_error() noexcept;

// Runs the body of a C function, which returns an Outcome or what becomes one.
template <typename Body>
oxbow_result guarded(Body&& body) noexcept {
  try {
    return record(std::forward<Body>(body)());
  } catch (...) {
    return record_exception();
  }
}

}  // namespace oxbow::c_api
