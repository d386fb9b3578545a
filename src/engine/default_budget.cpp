#include "engine/default_budget.h"

#include "base/cpu.h"

namespace oxbow::engine {

size_t default_budget_bytes() {
  constexpr size_t kFallback = size_t{2} << 30;
  const auto available = static_cast<size_t>(available_memory_bytes());
  return available > 0 ? available / 4 : kFallback;
}

}  // namespace oxbow::engine
