#include "cli/text_output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/console.h"

namespace oxbow::cli {

Status TextOutput::write(std::string_view text) {
  if (text.empty()) return {};
  if (!is_terminal_) {
    OXBOW_TRY(write_bytes(text));
    at_line_start_ = text.back() == '\n';
    return {};
  }
  const std::string shown = without_controls(text);
  if (shown.empty()) return {};
  OXBOW_TRY(write_bytes(shown));
  at_line_start_ = shown.back() == '\n';
  return {};
}

Status TextOutput::write_dim(std::string_view text) {
  if (!has_color_) return write(text);
  const std::string shown = without_controls(text);
  if (shown.empty()) return {};
  OXBOW_TRY(write_bytes("\x1b[2m" + shown + "\x1b[0m"));
  at_line_start_ = shown.back() == '\n';
  return {};
}

Status TextOutput::finish_line() {
  return at_line_start_ ? Status() : write("\n");
}

Status TextOutput::write_bytes(std::string_view bytes) {
  while (!bytes.empty() && !is_closed_) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      is_closed_ = true;
    } else if (errno == EAGAIN) {
      pollfd wait{descriptor_, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return fail(ErrorKind::kIo, "the output cannot be written: {}", std::strerror(errno));
    }
  }
  return {};
}

}  // namespace oxbow::cli
