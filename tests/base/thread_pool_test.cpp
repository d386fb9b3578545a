#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <vector>

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
