#pragma once
// Values as numbers.

#include "text/jinja/value.h"

namespace oxbow::text::jinja {

// A number: an integer (booleans count) or a float.
struct Number {
  bool valid = false, is_float = false;
  int64_t integer = 0;
  double real = 0;
};

inline Number number_of(const Value& value) {
  if (const bool* truth = value.get<bool>()) return {true, false, *truth ? 1 : 0, *truth ? 1.0 : 0.0};
  if (const int64_t* i = value.get<int64_t>()) return {true, false, *i, static_cast<double>(*i)};
  if (const double* d = value.get<double>()) return {true, true, 0, *d};
  return {};
}

}  // namespace oxbow::text::jinja
