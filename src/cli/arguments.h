#pragma once
// The pass before the option parser: flags as people type them become the long flags that the parser knows,
// and what it does not know is refused with the nearest name.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace oxbow::cli {

// A flag of one command: its names with their dashes ("-n", "--n-predict"), and what it expects.
struct Flag {
  std::vector<std::string> names;
  bool takes_value = false;
  bool takes_number = false;  // "-n64" is "-n 64"
};

struct Arguments {
  std::vector<std::string> flags;  // for the parser: flags and their values
  std::vector<std::string> words;  // the others, in order; all after "--"
};

// Values are never touched, whatever they look like. kInvalidInput for a flag that the command does not have,
// naming the nearest one, and for a flag whose value is missing.
Result<Arguments> normalize_arguments(std::span<const std::string> arguments, std::span<const Flag> flags);

// The long name of a flag with one dash and several letters ("-ctk"), empty for others.
std::string_view long_name_of(std::string_view flag);

// The candidate that a misspelt word most likely stands for; empty when none is near. Dashes and case do not
// count.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace oxbow::cli
