#pragma once
// The memory budget of an engine that was given none.

#include <cstddef>

namespace oxbow::engine {

// A quarter of the memory that is available now, under the limit of the control group; 2 GiB where the system
// does not say.
size_t default_budget_bytes();

}  // namespace oxbow::engine
