#include "c_api/guard.h"

#include <exception>
#include <new>
#include <stdexcept>

namespace oxbow::c_api {
namespace {

// `text` is owned by `storage` or static, so that a failure can be told when there is no memory for its text.
struct LastError {
  std::string storage;
  const char* text = "";
};
thread_local LastError last;

oxbow_result status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidInput:
      return OXBOW_INVALID_INPUT;
    case ErrorKind::kUnsupported:
      return OXBOW_UNSUPPORTED;
    case ErrorKind::kNotFound:
      return OXBOW_NOT_FOUND;
    case ErrorKind::kIo:
      return OXBOW_IO;
    case ErrorKind::kOutOfBudget:
      return OXBOW_OUT_OF_BUDGET;
    case ErrorKind::kInvalidState:
      return OXBOW_INVALID_STATE;
  }
  return OXBOW_INTERNAL;
}

}  // namespace

Outcome::Outcome(Status&& status) {
  if (!status) *this = Outcome(tl::unexpected<Error>(std::move(status).error()));
}

Outcome::Outcome(tl::unexpected<Error>&& problem)
    : status_(status_of(problem.value().kind)), text_(std::move(problem.value().message)) {}

oxbow_result record(const Outcome& outcome) noexcept {
  if (outcome.status() == OXBOW_OK) return OXBOW_OK;
  try {
    last.storage = outcome.text();
    last.text = last.storage.c_str();
  } catch (...) {
    last.text = "the call failed, and there is no memory for the reason";
  }
  return outcome.status();
}

oxbow_result record_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    last.text = "the system has no memory for this call";
    return OXBOW_OUT_OF_MEMORY;
  } catch (const std::length_error&) {
    last.text = "the call needs more memory than can be addressed";
    return OXBOW_OUT_OF_MEMORY;
  } catch (const std::exception& exception) {
    try {
      return record({OXBOW_INTERNAL, fmt::format("internal error: {}", exception.what())});
    } catch (...) {
      last.text = "internal error";
    }
  } catch (...) {
    last.text = "internal error: an exception of an unknown type, perhaps from a callback";
  }
  return OXBOW_INTERNAL;
}

const char* last_error() noexcept {
  return last.text;
}

}  // namespace oxbow::c_api
