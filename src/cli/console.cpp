#include "cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/log.h"
#include "text/unicode.h"

namespace oxbow::cli {
namespace {

bool is_set(const char* value) {
  return value != nullptr && *value != '\0';
}

bool is_control(char32_t c) {
  return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0);
}

// The front of text that fits the columns.
std::string fit(std::string_view text, size_t columns) {
  std::string out;
  size_t width = 0;
  while (!text.empty()) {
    const auto character = text::decode_character(text);
    width += text::display_width(text.substr(0, character.size_bytes));
    if (width > columns) break;
    out.append(text.substr(0, character.size_bytes));
    text.remove_prefix(character.size_bytes);
  }
  return out;
}

}  // namespace

bool wants_color(ColorChoice choice, bool is_terminal, const ColorEnvironment& environment) {
  if (choice != ColorChoice::kAuto) return choice == ColorChoice::kOn;
  if (is_set(environment.no_color)) return false;
  if (is_set(environment.clicolor_force) && std::string_view(environment.clicolor_force) != "0") return true;
  if (is_set(environment.term) && std::string_view(environment.term) == "dumb") return false;
  return is_terminal;
}

std::string without_controls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto character = text::decode_character(text);
    if (!character.valid) {
      out += text::kReplacementUtf8;
    } else if (!is_control(character.code_point)) {
      out.append(text.substr(0, character.size_bytes));
    }
    text.remove_prefix(character.size_bytes);
  }
  return out;
}

size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

Console::Console(ColorChoice color, int verbosity)
    : stdin_is_terminal_(::isatty(STDIN_FILENO) == 1),
      stdout_is_terminal_(::isatty(STDOUT_FILENO) == 1),
      stderr_is_terminal_(::isatty(STDERR_FILENO) == 1),
      verbosity_(verbosity) {
  const ColorEnvironment environment{std::getenv("NO_COLOR"), std::getenv("CLICOLOR_FORCE"),
                                     std::getenv("TERM")};
  color_ = wants_color(color, stderr_is_terminal_, environment);
  stdout_color_ = stdout_is_terminal_ && wants_color(color, true, environment);
}

void Console::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void Console::line(std::string_view text, std::string_view color) {
  erase_status();
  const std::string shown = stderr_is_terminal_ ? without_controls(text) : std::string(text);
  const bool colored = color_ && !color.empty();
  write(colored ? fmt::format("\x1b[{}m{}\x1b[0m\n", color, shown) : shown + "\n");
}

void Console::labelled(std::string_view label, std::string_view color, std::string_view message) {
  erase_status();
  const std::string shown = stderr_is_terminal_ ? without_controls(message) : std::string(message);
  write(color_ ? fmt::format("\x1b[{}m{}:\x1b[0m {}\n", color, label, shown)
               : fmt::format("{}: {}\n", label, shown));
}

void Console::error(std::string_view message) {
  labelled("error", "1;31", message);
}
void Console::warn(std::string_view message) {
  labelled("warning", "33", message);
}

void Console::status(std::string_view text) {
  if (!stderr_is_terminal_) return;
  const std::string shown = fit(without_controls(text), terminal_columns() - 1);
  write(color_ ? fmt::format("\r\x1b[K\x1b[2m{}\x1b[0m", shown) : fmt::format("\r\x1b[K{}", shown));
  has_status_ = true;
}

void Console::erase_status() {
  if (has_status_) write("\r\x1b[K");
  has_status_ = false;
}

void Console::take_log() {
  set_log_sink([this](LogLevel level, std::string_view module, std::string_view message) {
    switch (level) {
      case LogLevel::kError:
        return error(fmt::format("{}: {}", module, message));
      case LogLevel::kWarning:
        return warn(fmt::format("{}: {}", module, message));
      case LogLevel::kInfo:
        if (verbosity_ >= 1) dim("{}: {}", module, message);
        return;
      case LogLevel::kDebug:
        if (verbosity_ >= 2) dim("debug: {}: {}", module, message);
        return;
    }
  });
}

}  // namespace oxbow::cli
