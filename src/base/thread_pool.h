// A fixed set of worker threads that run the pieces of one loop at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/types.h"

namespace tegula {

class ThreadPool {
 public:
  // `threads` counts the caller: 1 means no workers. 0 takes the number of hardware threads.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(begin, end) for pieces of at most `grain` that cover 0..count once, on all threads; returns
  // when all are done. One call at a time; the body must not call parallel_for of the same pool.
  void parallel_for(i64 count, i64 grain, const std::function<void(i64 begin, i64 end)>& body);

 private:
  void work();
  void run_pieces();

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable done_;
  u64 generation_ = 0;  // number of the loop; workers wait for it to change
  int active_ = 0;      // workers still inside the current loop
  bool stop_ = false;

  const std::function<void(i64, i64)>* body_ = nullptr;
  i64 count_ = 0;
  i64 grain_ = 1;
  std::atomic<i64> next_{0};
};

}  // namespace tegula
