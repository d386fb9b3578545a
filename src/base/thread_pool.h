#pragma once
// A fixed team of threads that runs one phase at a time: fork, work, join.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace oxbow {

// A non-owning reference to a callable void(size_t begin, size_t end, int thread); no allocation.
class RangeFunction {
 public:
  template <typename F, typename = std::enable_if_t<!std::is_same_v<std::remove_cvref_t<F>, RangeFunction>>>
  RangeFunction(F&& function)  // NOLINT: implicit on purpose
      : object_(const_cast<void*>(static_cast<const void*>(&function))),
        call_([](void* object, size_t begin, size_t end, int thread) {
          (*static_cast<std::remove_reference_t<F>*>(object))(begin, end, thread);
        }) {}
  void operator()(size_t begin, size_t end, int thread) const { call_(object_, begin, end, thread); }

 private:
  void* object_;
  void (*call_)(void*, size_t, size_t, int);
};

// Threads split outputs, never sums, so results do not depend on their number. One caller at a time; the
// caller works as thread 0. Workers spin for some microseconds between phases, then sleep.
class ThreadPool {
 public:
  // threads >= 1, the caller included. Fewer, and a warning, when the system refuses some: see size().
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls function on disjoint ranges that cover [0, count), at most `grain` items each, handed out
  // dynamically so that a busy core does not hold up the others. Returns when all are done. function must not
  // throw.
  void run(size_t count, size_t grain, RangeFunction function);

 private:
  struct Phase {
    const RangeFunction* function = nullptr;
    size_t count = 0;
    size_t grain = 1;
  };

  void work(int thread);
  void take_ranges(int thread);

  // Enters the current phase unless it is closed.
  bool join();

  // Invariants: a worker touches phase_ only between joining and finishing; the caller closes a phase before
  // it returns and then waits for those who joined, not for those who slept through it.
  Phase phase_;
  alignas(64) std::atomic<size_t> next_{0};
  alignas(64) std::atomic<uint32_t> generation_{0};  // raised once per phase; workers wait for it to change
  alignas(64) std::atomic<uint64_t> gate_{0};        // generation << 32 | open << 31 | workers that joined
  alignas(64) std::atomic<uint32_t> finished_{0};    // of those who joined
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

}  // namespace oxbow
