#pragma once
// Numbers between bounds as expressions.

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "base/status.h"
#include "grammar/expressions.h"

namespace oxbow::grammar {

// JSON integers from min to max, both included; without a bound, to 16 digits. Nothing where min > max.
ExpressionId integer_range(Expressions& expressions, std::optional<int64_t> min, std::optional<int64_t> max);

// A bound of a number, as decimal digits.
struct Decimal {
  bool negative = false;
  std::string whole;     // no leading zeros; "0" for none
  std::string fraction;  // no trailing zeros
};
// Nothing for values that are no plain decimal of at most 16 digits before and after the point.
std::optional<Decimal> to_decimal(double value);

struct NumberBound {
  Decimal value;
  bool exclusive = false;
};
// JSON numbers without exponents between the bounds.
ExpressionId number_range(Expressions& expressions, const std::optional<NumberBound>& min,
                          const std::optional<NumberBound>& max);

}  // namespace oxbow::grammar
