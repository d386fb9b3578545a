#pragma once
// Text on stdout.

#include <string_view>

#include "base/status.h"

namespace oxbow::cli {

// Writes at once, without a buffer. On a terminal control characters are left out, so that a text cannot
// reprogram it.
class TextOutput {
 public:
  TextOutput(int descriptor, bool is_terminal) : descriptor_(descriptor), is_terminal_(is_terminal) {}

  // kIo names the operating system's reason (a full disk). A reader that has gone is no error: what follows
  // is dropped and is_closed() says so.
  Status write(std::string_view text);
  bool is_closed() const { return is_closed_; }

  bool at_line_start() const { return at_line_start_; }
  // Ends the line when it has begun.
  Status finish_line();

 private:
  Status write_bytes(std::string_view bytes);

  int descriptor_;
  bool is_terminal_;
  bool is_closed_ = false;
  bool at_line_start_ = true;
};

}  // namespace oxbow::cli
