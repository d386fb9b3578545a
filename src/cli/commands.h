#pragma once
// The commands. Each reports its errors on the console and returns the exit code.

#include "cli/console.h"
#include "cli/options.h"

namespace oxbow::cli {

int run_command(const RunOptions& options, Console& console);
int serve_command(const ServeOptions& options, Console& console);
int show_command(const ShowOptions& options, Console& console);
int tokenize_command(const TokenizeOptions& options, Console& console);
int logits_command(const LogitsOptions& options, Console& console);
int bench_command(const BenchOptions& options, Console& console);

// Everything: parses the arguments (without the program's name), runs the command. Throws nothing but what
// the standard library throws when memory is short.
int run_program(const std::vector<std::string>& arguments);

}  // namespace oxbow::cli
