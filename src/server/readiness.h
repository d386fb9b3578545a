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
  void set_ready() { ready_ = true; }
  void set_draining() { draining_ = true; }

  bool ready() const { return ready_; }
  bool draining() const { return draining_; }
  double progress() const { return ready_ ? 1.0 : progress_.load(); }  // of loading, 0 to 1

  // When a client that was told to wait should ask again: as loading went so far, 1 to 60.
  int retry_seconds() const {
    const std::chrono::duration<double> passed = Clock::now() - start_;
    const double done = progress();
    const double left = done > 0 ? passed.count() * (1 - done) / done : 1.0;
    return static_cast<int>(std::clamp(left + 0.5, 1.0, 60.0));
  }

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point start_ = Clock::now();
  std::atomic<bool> ready_{false}, draining_{false};
  std::atomic<double> progress_{0};
};

}  // namespace oxbow::server
