// A few threads that run the bursts of cores. Between bursts (about 10 us each) they spin for a moment before
// they sleep. What a burst computes does not depend on which thread runs it.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "base/types.h"

namespace tegula::emu {

class BurstPool {
 public:
  // threads counts the caller's: 1 means no helpers.
  explicit BurstPool(int threads);
  ~BurstPool();
  BurstPool(const BurstPool&) = delete;
  BurstPool& operator=(const BurstPool&) = delete;

  // Calls work(i, thread) for i in 0..count-1, count < 65536, and returns when all are done. Thread 0 is the
  // caller's.
  void run(int count, const std::function<void(int, int)>& work);

 private:
  void helper(int thread);
  bool claim_and_work(int thread);

  // generation << 32 | next index << 16 | count: a claim succeeds only in the generation it looked at.
  std::atomic<u64> ticket_{0};
  std::atomic<int> finished_{0};
  std::atomic<u32> wake_{0};  // changes with every generation, what sleeping helpers wait on
  std::atomic<int> sleeping_{0};
  std::atomic<bool> stop_{false};
  const std::function<void(int, int)>* work_ = nullptr;
  std::vector<std::thread> helpers_;
};

}  // namespace tegula::emu
