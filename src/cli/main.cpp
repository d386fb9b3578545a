#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_code.h"

int main(int argument_count, char** arguments) {
  try {
    return oxbow::cli::run_program(
        std::vector<std::string>(arguments + (argument_count > 0 ? 1 : 0), arguments + argument_count));
  } catch (const std::bad_alloc&) {
    std::fputs("error: the system has no more memory\n", stderr);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "error: %s\n", exception.what());
  } catch (...) {
    std::fputs("error: something unexpected happened\n", stderr);
  }
  return oxbow::cli::kExitRunTime;
}
