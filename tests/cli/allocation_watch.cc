// Replaces the global operator new of the test program. Memory comes from malloc, which the sanitizers know.
#include "cli/allocation_watch.h"

#include <cstdlib>
#include <new>

namespace tegula::test {

std::atomic<std::size_t> g_largest_allocation{0};

}  // namespace tegula::test

void* operator new(std::size_t size) {
  std::size_t seen = tegula::test::g_largest_allocation.load();
  while (size > seen && !tegula::test::g_largest_allocation.compare_exchange_weak(seen, size)) {
  }
  void* out = std::malloc(size == 0 ? 1 : size);
  if (out == nullptr) throw std::bad_alloc();
  return out;
}

void operator delete(void* at) noexcept {
  std::free(at);
}

void operator delete(void* at, std::size_t) noexcept {
  std::free(at);
}
