#include "base/thread_pool.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/log.h"
#include "base/start_thread.h"

namespace oxbow {
namespace {

// How long a thread polls before it sleeps: longer than the gaps between the phases of a step, shorter than
// anyone would notice as load on an idle machine.
constexpr auto kSpin = std::chrono::microseconds(50);

constexpr uint64_t kOpen = uint64_t{1} << 31;
constexpr uint64_t kJoinedMask = kOpen - 1;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

template <typename Ready>
bool spin_until(const Ready& ready) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 64; ++i) {
      if (ready()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  OXBOW_CHECK(threads >= 1);
  workers_.reserve(static_cast<size_t>(threads - 1));
  for (int i = 1; i < threads; ++i) {
    auto worker = start_thread([this, i] { work(i); });
    if (!worker) {
      log(LogLevel::kWarning, "threads", "{} of {} threads work: {}", i, threads, worker.error().message);
      return;
    }
    workers_.push_back(std::move(*worker));
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(size_t count, size_t grain, RangeFunction function) {
  if (count == 0) return;
  grain = std::max<size_t>(grain, 1);
  if (workers_.empty() || count <= grain) {
    function(0, count, 0);
    return;
  }
  phase_ = {&function, count, grain};
  next_.store(0, std::memory_order_relaxed);
  finished_.store(0, std::memory_order_relaxed);
  const uint32_t generation = generation_.load(std::memory_order_relaxed) + 1;
  gate_.store(uint64_t{generation} << 32 | kOpen, std::memory_order_release);
  generation_.store(generation, std::memory_order_release);
  generation_.notify_all();
  take_ranges(0);
  const auto joined = static_cast<uint32_t>(gate_.fetch_and(~kOpen, std::memory_order_acq_rel) & kJoinedMask);
  const auto done = [&] { return finished_.load(std::memory_order_acquire) == joined; };
  while (!spin_until(done)) {
    const uint32_t finished = finished_.load(std::memory_order_acquire);
    if (finished != joined) finished_.wait(finished, std::memory_order_acquire);
  }
}

bool ThreadPool::join() {
  uint64_t gate = gate_.load(std::memory_order_acquire);
  while ((gate & kOpen) != 0) {
    if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
      return true;
    }
  }
  return false;
}

void ThreadPool::take_ranges(int thread) {
  const Phase phase = phase_;
  for (;;) {
    const size_t begin = next_.fetch_add(phase.grain, std::memory_order_relaxed);
    if (begin >= phase.count) return;
    (*phase.function)(begin, std::min(begin + phase.grain, phase.count), thread);
  }
}

void ThreadPool::work(int thread) {
  uint32_t seen = 0;
  for (;;) {
    const auto changed = [&] { return generation_.load(std::memory_order_acquire) != seen; };
    if (!spin_until(changed)) generation_.wait(seen, std::memory_order_acquire);
    if (!changed()) continue;
    seen = generation_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return;
    if (!join()) continue;
    take_ranges(thread);
    finished_.fetch_add(1, std::memory_order_release);
    finished_.notify_one();
  }
}

}  // namespace oxbow
