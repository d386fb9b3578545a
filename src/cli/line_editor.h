#pragma once
// Lines from a person at a terminal: the one file that calls libedit. Several lines that are pasted are one
// text, Alt-Enter begins another line.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace oxbow::cli {

struct Line {
  enum class Kind {
    kText,
    kEnd,          // Ctrl-D in an empty line, or the terminal has gone
    kInterrupted,  // Ctrl-C; text is what stood in the line
  };
  Kind kind = Kind::kText;
  std::string text;  // UTF-8, without the newline at the end
};

// Given the line up to the cursor: the texts that may replace it.
using Completer = std::function<std::vector<std::string>(std::string_view line)>;

// At most one at a time, while an InterruptGuard lives. Reads the standard input.
class LineEditor {
 public:
  // output_descriptor: the terminal on which the line is shown. history_path: empty for none; its folders are
  // made, and it can be read by its owner only.
  LineEditor(int output_descriptor, const std::string& history_path, Completer completer);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  Line read(const std::string& prompt);
  // Adds to the history, and to its file; a file that cannot be written is not an error.
  void remember(const std::string& text);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// $XDG_STATE_HOME/oxbow/history, else ~/.local/state/oxbow/history; empty when neither variable is set.
std::string history_path(const char* xdg_state_home, const char* home);

}  // namespace oxbow::cli
