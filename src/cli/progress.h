#pragma once
// Progress of long work on stderr: one line that is redrawn on a terminal and erased at the end; elsewhere
// nothing, or with verbosity a line for every tenth.

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "cli/console.h"

namespace oxbow::cli {

class Progress {
 public:
  struct State {
    size_t done = 0;
    size_t total = 0;
    size_t started_at = 0;  // what was done when the work began
    double seconds = 0;
    double rate() const { return seconds > 0 ? static_cast<double>(done - started_at) / seconds : 0.0; }
    size_t percent() const { return total > 0 ? done * 100 / total : 100; }
  };
  using Format = std::function<std::string(const State&)>;

  Progress(Console& console, Format format) : console_(console), format_(std::move(format)) {}
  ~Progress() { console_.erase_status(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(size_t done, size_t total);

 private:
  using Clock = std::chrono::steady_clock;

  Console& console_;
  Format format_;
  bool started_ = false;
  size_t started_at_ = 0;
  size_t next_tenth_ = 1;
  Clock::time_point start_, last_drawn_;
};

// "load 1.2 GB/4.0 GB  30% 850 MB/s, 3.3 s left"
std::string format_load(const Progress::State& state);
// "prompt 3 412/8 190 tok  41% 512 t/s  (2 048 cached)"
std::string format_prompt(const Progress::State& state);

}  // namespace oxbow::cli
