#pragma once
// The terminal: what the three standard streams are, colours, and everything that goes to stderr.

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace oxbow::cli {

enum class ColorChoice { kAuto, kOn, kOff };

// NO_COLOR, CLICOLOR_FORCE and TERM; null or empty: not set.
struct ColorEnvironment {
  const char* no_color = nullptr;
  const char* clicolor_force = nullptr;
  const char* term = nullptr;
};

// kAuto: NO_COLOR says no, CLICOLOR_FORCE yes, TERM=dumb no, otherwise a terminal has colours.
bool wants_color(ColorChoice choice, bool is_terminal, const ColorEnvironment& environment);

// UTF-8 text without what a terminal would obey: C0 controls other than newline and tab, DEL, and C1
// controls.
std::string without_controls(std::string_view text);

// One thread uses it. Writing to stderr never fails a command.
class Console {
 public:
  explicit Console(ColorChoice color = ColorChoice::kAuto, int verbosity = 0);

  bool stdin_is_terminal() const { return stdin_is_terminal_; }
  bool stdout_is_terminal() const { return stdout_is_terminal_; }
  bool stderr_is_terminal() const { return stderr_is_terminal_; }
  int verbosity() const { return verbosity_; }
  // Whether text on stdout may be coloured: only on a terminal.
  bool stdout_has_color() const { return stdout_color_; }

  // A whole line; an unfinished status line is erased first.
  template <typename... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    line(fmt::format(format, std::forward<Args>(args)...), {});
  }
  // The same, dim where there are colours.
  template <typename... Args>
  void dim(fmt::format_string<Args...> format, Args&&... args) {
    line(fmt::format(format, std::forward<Args>(args)...), "2");
  }
  void error(std::string_view message);
  void warn(std::string_view message);

  // A line that the next one replaces; on a terminal only.
  void status(std::string_view text);
  void erase_status();

  // Sends the library's messages to stderr: warnings always, info and debug by verbosity. The console
  // outlives them.
  void take_log();

 private:
  void line(std::string_view text, std::string_view color);
  void labelled(std::string_view label, std::string_view color, std::string_view message);
  static void write(std::string_view text);

  bool stdin_is_terminal_;
  bool stdout_is_terminal_;
  bool stderr_is_terminal_;
  bool color_, stdout_color_;
  int verbosity_;
  bool has_status_ = false;
};

// Columns of the terminal, 80 when unknown.
size_t terminal_columns();

}  // namespace oxbow::cli
