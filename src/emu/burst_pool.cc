// See burst_pool.h.
#include "emu/burst_pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tegula::emu {
namespace {

constexpr int kSpins = 4000;  // about 50 us

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

BurstPool::BurstPool(int threads) {
  for (int i = 1; i < threads; ++i) helpers_.emplace_back([this, i] { helper(i); });
}

BurstPool::~BurstPool() {
  stop_.store(true);
  wake_.fetch_add(1);
  wake_.notify_all();
  for (std::thread& thread : helpers_) thread.join();
}

bool BurstPool::claim_and_work(int thread) {
  u64 ticket = ticket_.load(std::memory_order_acquire);
  for (;;) {
    const u32 next = static_cast<u32>(ticket >> 16) & 0xFFFF;
    const u32 count = static_cast<u32>(ticket) & 0xFFFF;
    if (next >= count) return false;
    if (ticket_.compare_exchange_weak(ticket, ticket + (1u << 16), std::memory_order_acq_rel)) {
      (*work_)(static_cast<int>(next), thread);
      finished_.fetch_add(1, std::memory_order_acq_rel);
      return true;
    }
  }
}

void BurstPool::run(int count, const std::function<void(int, int)>& work) {
  if (count <= 1 || helpers_.empty()) {
    for (int i = 0; i < count; ++i) work(i, 0);
    return;
  }
  work_ = &work;
  finished_.store(0, std::memory_order_relaxed);
  const u64 generation = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
  ticket_.store(generation << 32 | static_cast<u64>(count), std::memory_order_release);
  wake_.fetch_add(1);
  if (sleeping_.load() > 0) wake_.notify_all();
  while (claim_and_work(0)) {
  }
  for (int spins = 0; finished_.load(std::memory_order_acquire) < count; ++spins) {
    if (spins < kSpins) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
}

void BurstPool::helper(int thread) {
  while (!stop_.load(std::memory_order_acquire)) {
    const u32 seen = wake_.load();
    while (claim_and_work(thread)) {
    }
    int spins = 0;
    while (spins < kSpins && wake_.load() == seen && !stop_.load(std::memory_order_acquire)) {
      relax();
      ++spins;
    }
    if (spins == kSpins) {
      sleeping_.fetch_add(1);
      wake_.wait(seen);
      sleeping_.fetch_sub(1);
    }
  }
}

}  // namespace tegula::emu
