#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace oxbow {

using std::chrono::steady_clock;

bool FileLock::try_lock(int fd) {
  int result = 0;
  do {
    result = ::flock(fd, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

Result<FileLock> FileLock::acquire(const std::string& path, std::chrono::milliseconds patience) {
  FileLock lock(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (lock.fd_ < 0) return lock;
  const auto deadline = steady_clock::now() + patience;
  while (!try_lock(lock.fd_)) {
    if (errno != EWOULDBLOCK) return FileLock(-1);
    if (steady_clock::now() >= deadline) {
      return fail(ErrorKind::kInvalidState, "{}: locked by another process for {} ms", path,
                  patience.count());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return lock;
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace oxbow
