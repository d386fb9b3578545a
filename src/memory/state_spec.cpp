#include "memory/state_spec.h"

#include <algorithm>

namespace oxbow::memory {
namespace {

bool any_kv(std::span<const StateSpec> specs) {
  return std::ranges::any_of(specs, [](const StateSpec& spec) { return spec.kv() != nullptr; });
}

bool any_recurrent(std::span<const StateSpec> specs) {
  return std::ranges::any_of(specs, [](const StateSpec& spec) { return spec.recurrent() != nullptr; });
}

}  // namespace

bool is_recurrent(std::span<const StateSpec> specs) {
  return any_recurrent(specs) && !any_kv(specs);
}

bool is_hybrid(std::span<const StateSpec> specs) {
  return any_recurrent(specs) && any_kv(specs);
}

}  // namespace oxbow::memory
