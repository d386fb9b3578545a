#include "cli/input_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace oxbow::cli {
namespace {

Result<std::string> read_all(int descriptor, const std::string& name) {
  std::string text;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return fail(ErrorKind::kIo, "{}: reading was interrupted", name);
    if (count < 0 && errno == EISDIR)
      return fail(ErrorKind::kIo, "{} is a folder, expected a text file", name);
    if (count < 0) return fail(ErrorKind::kIo, "{} cannot be read: {}", name, std::strerror(errno));
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(count));
    if (text.size() > kLongestInputBytes) {
      return fail(ErrorKind::kIo, "{} has more than {} bytes", name, kLongestInputBytes);
    }
  }
}

}  // namespace

Result<std::string> read_text(const std::string& path) {
  if (path == "-") return read_all(STDIN_FILENO, "standard input");
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const ErrorKind kind = errno == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo;
    return fail(kind, "{} cannot be opened: {}", path, std::strerror(errno));
  }
  auto text = read_all(descriptor, path);
  ::close(descriptor);
  return text;
}

std::string without_last_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace oxbow::cli
