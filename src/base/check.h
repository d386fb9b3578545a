#pragma once
// OXBOW_CHECK guards against Oxbow's own bugs: input from outside must never reach a failing one.

namespace oxbow {

// Writes the expression and its place to stderr and aborts.
[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace oxbow

#define OXBOW_CHECK(condition)                                               \
  do {                                                                       \
    if (!(condition)) ::oxbow::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
