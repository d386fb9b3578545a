#include "cli/report.h"

#include <unistd.h>

#include "cli/exit_code.h"
#include "cli/interrupt.h"

namespace oxbow::cli {

int report(Console& console, const Error& error) {
  if (const int signal = pending_interrupt(); signal != 0) {
    console.erase_status();
    return 128 + signal;
  }
  console.error(error.message);
  return kExitRunTime;
}

int print(Console& console, std::string_view text) {
  TextOutput output(STDOUT_FILENO, console.stdout_is_terminal());
  if (auto status = output.write(text); !status) return report(console, status.error());
  return kExitOk;
}

}  // namespace oxbow::cli
