#pragma once
// What the server can do at the moment: it listens before its model is loaded, and still answers while it
// drains.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>

namespace oxbow::server {

// Any thread.
class Readiness {
 public:
  void set_progress(size_t done, size_t total) {
    progress_ = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0.0;
  }
  void set_ready() {
    load_seconds_ = passed_seconds();
    ready_ = true;
  }
  void set_draining() { draining_ = true; }

  bool ready() const { return ready_; }
  bool draining() const { return draining_; }
  double progress() const { return ready_ ? 1.0 : progress_.load(); }  // of loading, 0 to 1
  double load_seconds() const { return load_seconds_; }                // 0 until it is ready

  // When a client that was told to wait should ask again, seconds from 1 to 60: as fast as loading went so
  // far.
  int retry_seconds() const {
    const double done = progress();
    const double left = done > 0 ? passed_seconds() * (1 - done) / done : 1.0;
    return static_cast<int>(std::clamp(left + 0.5, 1.0, 60.0));
  }

 private:
  using Clock = std::chrono::steady_clock;
  double passed_seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  const Clock::time_point start_ = Clock::now();
  std::atomic<bool> ready_{false}, draining_{false};
  std::atomic<double> progress_{0}, load_seconds_{0};
};

}  // namespace oxbow::server
