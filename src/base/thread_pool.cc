#include "base/thread_pool.h"

#include <algorithm>

namespace tegula {

ThreadPool::ThreadPool(int threads) {
  if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_pieces() {
  for (;;) {
    const i64 begin = next_.fetch_add(grain_, std::memory_order_relaxed);
    if (begin >= count_) return;
    (*body_)(begin, std::min(begin + grain_, count_));
  }
}

void ThreadPool::work() {
  u64 seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
    }
    run_pieces();
    const std::lock_guard lock(mutex_);
    if (--active_ == 0) done_.notify_one();
  }
}

void ThreadPool::parallel_for(i64 count, i64 grain, const std::function<void(i64, i64)>& body) {
  grain = std::max<i64>(grain, 1);
  if (workers_.empty() || count <= grain) {
    if (count > 0) body(0, count);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    body_ = &body;
    count_ = count;
    grain_ = grain;
    next_.store(0, std::memory_order_relaxed);
    active_ = static_cast<int>(workers_.size());
    ++generation_;
  }
  start_.notify_all();
  run_pieces();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return active_ == 0; });
}

}  // namespace tegula
