#pragma once
// What the program's exit code says.

namespace oxbow::cli {

enum ExitCode : int { kExitOk = 0, kExitRunTime = 1, kExitUsage = 2, kExitInterrupted = 130 };

}  // namespace oxbow::cli
