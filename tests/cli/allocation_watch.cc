// Replaces the global operator new of the test program. Memory comes from malloc, which the sanitizers know.
// Every form that the standard library pairs with the plain delete is replaced, std::nothrow's too
// (stable_sort uses it): the sanitizers refuse memory that one family hands out and another takes back.
#include "cli/allocation_watch.h"

#include <cstdlib>
#include <new>

namespace tegula::test {

std::atomic<std::size_t> g_largest_allocation{0};

namespace {

void* allocate(std::size_t size) noexcept {
  std::size_t seen = g_largest_allocation.load();
  while (size > seen && !g_largest_allocation.compare_exchange_weak(seen, size)) {
  }
  return std::malloc(size == 0 ? 1 : size);
}

}  // namespace

}  // namespace tegula::test

void* operator new(std::size_t size) {
  void* out = tegula::test::allocate(size);
  if (out == nullptr) throw std::bad_alloc();
  return out;
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return tegula::test::allocate(size);
}

void operator delete(void* at) noexcept {
  std::free(at);
}

void operator delete(void* at, std::size_t) noexcept {
  std::free(at);
}

void operator delete(void* at, const std::nothrow_t&) noexcept {
  std::free(at);
}
