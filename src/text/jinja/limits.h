#pragma once
// What a template may cost. Templates come with model files from anywhere, so each number is a hard stop that
// ends in an error, never in a crash.

#include <cstddef>
#include <cstdint>

namespace oxbow::text::jinja {

struct Limits {
  size_t template_bytes = size_t{1} << 20;
  // Nesting of statements and expressions, chains such as a + b + c included.
  unsigned syntax_depth = 200;
  // Statements and expressions being worked on at one time, through all macros that call macros.
  unsigned evaluation_depth = 400;
  // Lists in lists.
  unsigned value_depth = 100;
  // Evaluated nodes, plus one for every few items or bytes that a filter touches.
  uint64_t steps = 5'000'000;
  size_t output_bytes = size_t{16} << 20;
  size_t string_bytes = size_t{16} << 20;
  size_t range_items = 100'000;  // the sandbox of the Python engine has the same
  // All values that are alive at one time.
  size_t live_bytes = size_t{256} << 20;
};

}  // namespace oxbow::text::jinja
