#pragma once
// Bounds of what a caller may ask for: far above any use, far below where sizes or the system give way.

#include <cstddef>

#include "base/status.h"

namespace oxbow::c_api {

inline constexpr int kMostThreads = 256;
inline constexpr size_t kMostStepTokens = size_t{1} << 20;

// 0 stands for all usable cores.
inline Status check_threads(int threads) {
  if (threads < 0 || threads > kMostThreads)
    return fail(ErrorKind::kInvalidInput, "{} threads; expected 0 to {}", threads, kMostThreads);
  return {};
}

}  // namespace oxbow::c_api
