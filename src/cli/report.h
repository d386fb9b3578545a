#pragma once
// How commands end.

#include "base/status.h"
#include "cli/console.h"
#include "cli/text_output.h"

namespace oxbow::cli {

// Says what went wrong and returns the exit code: 128 and the signal's number when work was interrupted,
// else 1.
int report(Console& console, const Error& error);

// The exit code after writing the text to stdout.
int print(Console& console, std::string_view text);

}  // namespace oxbow::cli
