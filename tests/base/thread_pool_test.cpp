#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "support/sanitizers.h"

namespace oxbow {
namespace {

TEST(ThreadPool, CoversEveryItemOnceForAnyCountGrainAndTeam) {
  for (int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    for (size_t count : {0, 1, 2, 7, 64, 1000}) {
      for (size_t grain : {1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> hits(count);
        pool.run(count, grain, [&](size_t begin, size_t end, int thread) {
          EXPECT_LT(thread, threads);
          for (size_t i = begin; i < end; ++i) hits[i].fetch_add(1);
        });
        for (size_t i = 0; i < count; ++i) ASSERT_EQ(hits[i].load(), 1) << i;
      }
    }
  }
}

#ifndef OXBOW_HAS_SHADOW_MEMORY
TEST(ThreadPool, WorksWithTheThreadsThatTheSystemGives) {
  const pid_t child = ::fork();
  if (child == 0) {
    // No address space for stacks beyond those that the system library has in store.
    const rlimit limit{1, 1};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(2);
    ThreadPool pool(64);
    std::array<int, 100> hits{};
    pool.run(hits.size(), 10, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) ++hits[i];
    });
    const bool all = std::all_of(hits.begin(), hits.end(), [](int hit) { return hit == 1; });
    ::_exit(pool.size() < 64 && all ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}
#endif

TEST(ThreadPool, RunsManyPhasesInARow) {
  ThreadPool pool(2);
  std::vector<size_t> values(100, 0);
  for (int phase = 0; phase < 20000; ++phase) {
    pool.run(values.size(), 10, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) ++values[i];
    });
  }
  for (size_t value : values) ASSERT_EQ(value, 20000U);
}

}  // namespace
}  // namespace oxbow
