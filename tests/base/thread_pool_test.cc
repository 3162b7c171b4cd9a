#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <vector>

namespace tegula {
namespace {

TEST(ThreadPool, CoversEveryIndexOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (i64 count : {0, 1, 7, 1000}) {
      for (i64 grain : {0, 1, 3, 2000}) {
        std::vector<std::atomic<int>> hits(count);
        pool.parallel_for(count, grain, [&](i64 begin, i64 end) {
          for (i64 i = begin; i < end; ++i) ++hits[i];
        });
        for (const auto& hit : hits) ASSERT_EQ(hit.load(), 1);
      }
    }
  }
}

TEST(ThreadPool, ManyShortLoops) {
  ThreadPool pool(4);
  std::atomic<i64> sum{0};
  for (int i = 0; i < 2000; ++i) pool.parallel_for(8, 1, [&](i64 begin, i64 end) { sum += end - begin; });
  EXPECT_EQ(sum.load(), 16000);
}

}  // namespace
}  // namespace tegula
