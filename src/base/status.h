#pragma once
// Errors as values: what went wrong, where, and what was expected. Nothing that comes from outside may abort
// or throw.

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace oxbow {

enum class ErrorKind {
  kInvalidInput,  // a file, request or argument breaks its rules
  kUnsupported,   // well formed, but not something this build can run
  kNotFound,      // no such file, key or sequence
  kIo,            // the operating system refused
  kOutOfBudget,   // would exceed the memory budget or the context
  kInvalidState,  // the call does not fit the object's state
};

struct Error {
  ErrorKind kind;
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

template <typename... Args>
[[nodiscard]] tl::unexpected<Error> fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{kind, fmt::format(format, std::forward<Args>(args)...)});
}

}  // namespace oxbow

#define OXBOW_CONCAT_(a, b) a##b
#define OXBOW_CONCAT(a, b) OXBOW_CONCAT_(a, b)

// Returns the error of a Status or Result expression from the enclosing function.
#define OXBOW_TRY(expression)                                                   \
  do {                                                                          \
    if (auto oxbow_status = (expression); !oxbow_status) {                      \
      return ::tl::unexpected<::oxbow::Error>(std::move(oxbow_status).error()); \
    }                                                                           \
  } while (false)

// OXBOW_ASSIGN(auto x, f()): binds the value of a Result, or returns its error from the enclosing function.
#define OXBOW_ASSIGN(declaration, expression) \
  OXBOW_ASSIGN_IMPL_(OXBOW_CONCAT(oxbow_result_, __LINE__), declaration, expression)
#define OXBOW_ASSIGN_IMPL_(result, declaration, expression)             \
  auto result = (expression);                                           \
  if (!result) {                                                        \
    return ::tl::unexpected<::oxbow::Error>(std::move(result).error()); \
  }                                                                     \
  declaration = std::move(*result)
