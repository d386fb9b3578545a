#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/report.h"

namespace oxbow::cli {
namespace {

// A closed standard stream gets a descriptor that refuses to be used, so that no file of ours takes its
// number.
void occupy_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    [[maybe_unused]] const int opened = ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int stop(const Stop& stop) {
  Console console;
  if (stop.exit_code != kExitOk) {
    if (stop.text.ends_with('\n')) {
      console.say("{}", stop.text.substr(0, stop.text.size() - 1));
    } else {
      console.error(stop.text);
    }
    return stop.exit_code;
  }
  return print(console, stop.text);
}

int dispatch(const RunOptions& options, Console& console) {
  return run_command(options, console);
}
int dispatch(const ServeOptions& options, Console& console) {
  return serve_command(options, console);
}
int dispatch(const ShowOptions& options, Console& console) {
  return show_command(options, console);
}
int dispatch(const TokenizeOptions& options, Console& console) {
  return tokenize_command(options, console);
}
int dispatch(const LogitsOptions& options, Console& console) {
  return logits_command(options, console);
}
int dispatch(const BenchOptions& options, Console& console) {
  return bench_command(options, console);
}

}  // namespace

int run_program(const std::vector<std::string>& arguments) {
  occupy_standard_streams();
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that grows beyond its limit is an error of write
  const auto command = parse_command_line(arguments);
  if (!command) return stop(command.error());
  return std::visit(
      [](const auto& options) {
        Console console(options.common.color, options.common.verbosity);
        console.take_log();
        const int exit_code = dispatch(options, console);
        set_log_sink({});
        return exit_code;
      },
      *command);
}

}  // namespace oxbow::cli
