#pragma once
// Text on stdout.

#include <string_view>

#include "base/status.h"

namespace oxbow::cli {

// Writes at once, without a buffer. On a terminal control characters are left out, so that a text cannot
// reprogram it.
class TextOutput {
 public:
  // has_color: a terminal that may be sent escape sequences.
  TextOutput(int descriptor, bool is_terminal, bool has_color = false)
      : descriptor_(descriptor), is_terminal_(is_terminal), has_color_(is_terminal && has_color) {}

  // kIo names the operating system's reason (a full disk). A reader that has gone is no error: what follows
  // is dropped and is_closed() says so.
  Status write(std::string_view text);
  // The same, dim where there are colours. Each call ends what it begins.
  Status write_dim(std::string_view text);
  bool is_terminal() const { return is_terminal_; }
  bool has_color() const { return has_color_; }
  bool is_closed() const { return is_closed_; }

  bool at_line_start() const { return at_line_start_; }
  // Ends the line when it has begun.
  Status finish_line();

 private:
  Status write_bytes(std::string_view bytes);

  int descriptor_;
  bool is_terminal_;
  bool has_color_;
  bool is_closed_ = false;
  bool at_line_start_ = true;
};

}  // namespace oxbow::cli
